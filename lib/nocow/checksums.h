/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHECKSUMS_H
#define FASTPATH_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte-range.h"

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
 * Decode the SIZE bytes that BTRFS_IOC_FS_INFO wrote. Kernels before 5.10 do not report the type of
 * the checksum. For them crc32c is assumed, although Linux 5.5 and later have other types too.
 * Returns 0, or -EPROTO for sizes that are invalid in btrfs.
 * Rests on struct btrfs_ioctl_fs_info_args (linux/btrfs.h).
 */
int checksum_format_parse(const void *info, size_t size, struct checksum_format *ret_format);

struct checksum_search;

/*
 * Finds the parts of the disk that have checksums. It uses the keys and sizes of the items, and
 * does not read the checksums. Memory and the size of an answer are constant.
 * Returns 0 or -ENOMEM; freed with checksum_search_free().
 */
int checksum_search_new(struct checksum_search **ret_search);
void checksum_search_free(struct checksum_search *search);
void checksum_search_freep(struct checksum_search **search);

/*
 * Start again on the file system of FD, and drop all earlier answers.
 * Returns 0, or a negative errno as BTRFS_IOC_FS_INFO, -EPROTO included.
 */
int checksum_search_start(struct checksum_search *search, int fd);

/*
 * The first part of RANGE, which is of logical addresses, that has checksums. Calls with ascending
 * ranges are the fastest.
 * Returns 1, 0 if no part has checksums, or a negative errno as tree_search_next().
 */
int checksum_search_find(struct checksum_search *search, struct byte_range range,
			 struct byte_range *ret_part);

#endif
