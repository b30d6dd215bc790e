/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXTENT_ITEM_H
#define FASTPATH_EXTENT_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/backref.h"
#include "sys/cleanup.h"

/* The references in the item of a data extent in the extent tree. */
struct extent_item {
	/* references in all */
	uint64_t ref_count;
	/* the transaction in which the extent was allocated */
	uint64_t generation;
	/* whether the item has exactly one inline reference; else the members below are not set */
	bool has_sole_ref;
	/* OFFSET is where the data extent would begin in the file; it can be before the file */
	struct extent_ref sole_ref;
	/* the number of file extent items that the reference stands for */
	uint32_t sole_ref_count;
	/* the bytes of the inline references, a part of the bytes that were decoded */
	const void *inline_refs;
	size_t inline_refs_size;
};

/*
 * Decode the SIZE bytes of an item of type BTRFS_EXTENT_ITEM_KEY.
 * Returns 0, or -EPROTO if the item is too short or does not describe a data extent.
 * Rests on struct btrfs_extent_item and the inline references after it (linux/btrfs_tree.h).
 */
int extent_item_parse(const void *data, size_t size, struct extent_item *ret_item);

/*
 * Whether every reference to the extent is REF; if so, the kernel takes the extent as not shared.
 * Like the kernel, this only accepts an item with exactly one inline reference. An item with none,
 * with several, or with a reference by a tree block (after a balance) counts as shared.
 * Rests on check_committed_ref() (fs/btrfs/extent-tree.c).
 */
bool extent_item_belongs_to(const struct extent_item *item, const struct extent_ref *ref);

/*
 * The next inline reference that names a root, an inode and an offset. *POSITION begins as 0.
 * References by a tree block, and those in items of their own, are left out: they do not name a file.
 * Returns 1, or 0 at the end or at a reference of an unknown type.
 * Rests on struct btrfs_extent_inline_ref (linux/btrfs_tree.h).
 */
int extent_item_next_ref(const struct extent_item *item, size_t *position,
			 struct extent_ref *ret_ref);

struct extent_lookup;

/*
 * Looks extents up in the extent tree. If the lookups are in the order of the extents on disk, each
 * call also fetches the next extents, and each time more of them.
 * Returns 0 or -ENOMEM; freed with extent_lookup_free().
 */
int extent_lookup_new(struct extent_lookup **ret_lookup);
void extent_lookup_free(struct extent_lookup *lookup);
DEFINE_FREEP(extent_lookup_free, struct extent_lookup)

/* Drop the extents that were fetched, which can have changed, and use the file system of FD. */
void extent_lookup_start(struct extent_lookup *lookup, int fd);

/*
 * The extent at BYTENR; its inline references are valid until the next call. Returns 1, 0 if the
 * tree does not have it (it is new in the running transaction, or was deleted), or a negative
 * errno as tree_search_next().
 */
int extent_lookup_find(struct extent_lookup *lookup, uint64_t bytenr, struct extent_item *ret_item);

#endif
