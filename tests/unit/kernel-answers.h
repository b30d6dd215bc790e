/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_KERNEL_ANSWERS_H
#define FASTPATH_KERNEL_ANSWERS_H

#include <stdint.h>

#include <linux/fiemap.h>

#include "fs/backref.h"
#include "fs/tree-batch.h"
#include "fs/tree-search.h"
#include "ioctl-mock.h"

/*
 * Entries of the ioctl mock's table, request and answer in the kernel's own form.
 * ERROR is the errno to fail with, or 0.
 */

/* How many extents a call of the fiemap iterator has room for. */
#define FIEMAP_ROOM 4096

/* FS_IOC_FIEMAP of START and LENGTH with ROOM for extents. COUNT is reported even without room. */
void expect_fiemap(uint64_t start, uint64_t length, uint32_t flags, uint32_t room,
		   const struct fiemap_extent *extents, uint32_t count, int error);

/* What a search asks for: one objectid and one type. */
struct search_key {
	uint64_t tree;
	uint64_t objectid;
	uint32_t type;
	uint64_t min_offset;
	uint64_t max_offset;
};

/* BTRFS_IOC_TREE_SEARCH_V2, answered with ITEMS; what they point to is copied. */
void expect_tree_search(const struct search_key *key, const struct tree_item *items, uint32_t count,
			int error);

/* The same with SIZE bytes of ANSWER, which are said to be COUNT items. */
void expect_raw_tree_search(const struct search_key *key, const void *answer, size_t size,
			    uint32_t count);

/* What a batch asks for: MOST items between two keys of a tree, in ROOM bytes. */
struct batch_key {
	uint64_t tree;
	struct tree_key min;
	struct tree_key max;
	uint32_t most;
	uint64_t room;
};

/* BTRFS_IOC_TREE_SEARCH_V2 for a batch, answered with ITEMS; what they point to is copied. */
void expect_batch(const struct batch_key *key, const struct tree_item *items, uint32_t count,
		  int error);

/* The same, without leaves that are older than MIN_GENERATION. */
void expect_newer_batch(const struct batch_key *key, uint64_t min_generation,
			const struct tree_item *items, uint32_t count);

/* The same as expect_batch(), answered with ITEM's header alone since it is too large for the room. */
void expect_oversize_batch(const struct batch_key *key, const struct tree_item *item);

/* BTRFS_IOC_LOGICAL_INO_V2 with a buffer of SIZE bytes. */
void expect_logical_ino(uint64_t bytenr, uint64_t size, const struct extent_ref *refs,
			uint32_t count, uint32_t bytes_missing, uint32_t missed, int error);

#endif
