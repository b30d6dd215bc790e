/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXTENT_ITEM_H
#define FASTPATH_EXTENT_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/backref.h"

/* The item of a data extent in the extent tree, as far as it says who refers to the extent. */
struct extent_item {
	/* references in all */
	uint64_t ref_count;
	/* whether one inline reference is all that the item has; only then the rest is set */
	bool has_sole_ref;
	/* OFFSET is that of the data extent's start in the file, and may lie before the file's */
	struct extent_ref sole_ref;
	/* how many file extent items that reference stands for */
	uint32_t sole_ref_count;
};

/*
 * Decode the SIZE bytes of an item of type BTRFS_EXTENT_ITEM_KEY.
 * Returns 0, or -EPROTO if it is too short or not of a data extent.
 * Rests on struct btrfs_extent_item and the inline references after it (linux/btrfs_tree.h).
 */
int extent_item_parse(const void *data, size_t size, struct extent_item *ret_item);

/*
 * Whether every reference to the extent is REF, which is what the kernel means by not shared.
 * It does not look further than at an only inline reference, and neither does this: an item without
 * one, or with more, or with one by the tree block (after a balance) counts as shared.
 * Rests on check_committed_ref() (fs/btrfs/extent-tree.c).
 */
bool extent_item_belongs_to(const struct extent_item *item, const struct extent_ref *ref);

struct extent_lookup;

/*
 * Looks extents up in the extent tree. Where they are asked for in the order in which they lie on
 * disk, the neighbours come with them, more with each call.
 * Returns 0 or -ENOMEM; freed with extent_lookup_free().
 */
int extent_lookup_new(struct extent_lookup **ret_lookup);
void extent_lookup_free(struct extent_lookup *lookup);
void extent_lookup_freep(struct extent_lookup **lookup);

/* Forget the neighbours: what was asked for so far may have changed, or FD is on another disk. */
void extent_lookup_start(struct extent_lookup *lookup, int fd);

/*
 * The extent at BYTENR. Returns 1, 0 if the tree does not have it (it is new in the transaction
 * that is running, or gone), or a negative errno as tree_search_next().
 */
int extent_lookup_find(struct extent_lookup *lookup, uint64_t bytenr, struct extent_item *ret_item);

#endif
