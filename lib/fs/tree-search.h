/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TREE_SEARCH_H
#define FASTPATH_TREE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "sys/cleanup.h"

/* One item of a b-tree. DATA points into the search's buffer until the next call. */
struct tree_item {
	uint64_t objectid;
	uint32_t type;
	uint64_t offset;
	/* generation of the leaf that holds the item */
	uint64_t leaf_generation;
	const void *data;
	uint32_t size;
};

/*
 * Decode the item at *POSITION of a search's answer, SIZE bytes long, and move
 * *POSITION after it. BUFFER needs no alignment.
 * Returns 0, or -EPROTO if the header or the item reaches beyond SIZE.
 * Rests on struct btrfs_ioctl_search_header (linux/btrfs.h).
 */
int tree_search_parse(const void *buffer, size_t size, size_t *position,
		      struct tree_item *ret_item);

struct tree_search;

/*
 * A search in tree TREE_ID (0: the subvolume that holds FD) for the items
 * (OBJECTID, TYPE, MIN_OFFSET..MAX_OFFSET). FD stays the caller's.
 * Returns 0, or -ENOMEM. Freed with tree_search_free().
 */
int tree_search_new(struct tree_search **ret_search, int fd, uint64_t tree_id, uint64_t objectid,
		    uint32_t type, uint64_t min_offset, uint64_t max_offset);
void tree_search_free(struct tree_search *search);
DEFINE_FREEP(tree_search_free, struct tree_search)

/*
 * The next item, in ascending order of offset.
 * Returns 1 with an item, 0 at the end, or a negative errno: -EPERM without
 * CAP_SYS_ADMIN, -ENOTTY if the file system is not btrfs, -ENOENT if there is no such tree,
 * -EPROTO for an answer that is invalid or makes no progress.
 * Rests on BTRFS_IOC_TREE_SEARCH_V2 (fs/btrfs/ioctl.c).
 */
int tree_search_next(struct tree_search *search, struct tree_item *ret_item);

/*
 * Copy the first SIZE bytes of the first item of such a search; later items are ignored.
 * Returns 0; or a negative errno: -ENOENT without an item, -EPROTO if it is shorter, or as
 * tree_search_new() and tree_search_next().
 */
int tree_search_copy_first(int fd, uint64_t tree_id, uint64_t objectid, uint32_t type,
			   uint64_t min_offset, uint64_t max_offset, void *ret_data, size_t size);

#endif
