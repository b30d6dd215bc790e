/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHECKSUM_FORMAT_H
#define FASTPATH_CHECKSUM_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* The format of a file system's checksums. */
struct checksum_format {
	/* the bytes of data that one checksum covers */
	uint32_t sector_size;
	/* the size of a checksum in bytes */
	uint32_t size;
	/* the size of a tree block, which is the limit for an item of checksums */
	uint32_t node_size;
};

/*
 * The format of the file system of FD. Needs no privilege. Kernels before 5.10 do not report the
 * type of the checksum. For them crc32c is assumed, although Linux 5.5 and later have other types
 * too.
 * Returns 0, -EPROTO as checksum_format_parse(), or a negative errno (-ENOTTY if the file system is
 * not btrfs).
 */
int checksum_format_of(int fd, struct checksum_format *ret_format);

/*
 * Decode the SIZE bytes that BTRFS_IOC_FS_INFO wrote.
 * Returns 0, or -EPROTO for sizes that are invalid in btrfs.
 * Rests on struct btrfs_ioctl_fs_info_args (linux/btrfs.h).
 */
int checksum_format_parse(const void *info, size_t size, struct checksum_format *ret_format);

#endif
