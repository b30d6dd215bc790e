/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHECKSUMS_H
#define FASTPATH_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte-range.h"

/* What a file system's checksums are made of. */
struct checksum_format {
	/* bytes of data that one checksum is of */
	uint32_t sector_size;
	/* bytes of a checksum */
	uint32_t size;
	/* bytes of a tree block, which no item of checksums outgrows */
	uint32_t node_size;
};

/*
 * Decode the SIZE bytes that BTRFS_IOC_FS_INFO wrote. A kernel that does not tell the checksum
 * (before 5.10) may have others than crc32c (from 5.5 on), and is taken to have that.
 * Returns 0, or -EPROTO for sizes that no btrfs has.
 * Rests on struct btrfs_ioctl_fs_info_args (linux/btrfs.h).
 */
int checksum_format_parse(const void *info, size_t size, struct checksum_format *ret_format);

struct checksum_search;

/*
 * Finds out which parts of the disk have checksums, without reading the checksums: an item's place
 * and size tell. Memory and the size of an answer are constant.
 * Returns 0 or -ENOMEM; freed with checksum_search_free().
 */
int checksum_search_new(struct checksum_search **ret_search);
void checksum_search_free(struct checksum_search *search);
void checksum_search_freep(struct checksum_search **search);

/*
 * Start over, on the file system of FD; nothing that was found before counts any more.
 * Returns 0, or a negative errno as BTRFS_IOC_FS_INFO, -EPROTO included.
 */
int checksum_search_start(struct checksum_search *search, int fd);

/*
 * The first part of RANGE, bytes of btrfs' logical addresses, that has checksums. Cheapest where
 * ranges ascend.
 * Returns 1, 0 if no part has, or a negative errno as tree_search_next().
 */
int checksum_search_find(struct checksum_search *search, struct byte_range range,
			 struct byte_range *ret_part);

#endif
