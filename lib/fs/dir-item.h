/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DIR_ITEM_H
#define FASTPATH_DIR_ITEM_H

#include <stddef.h>
#include <stdint.h>

#include "fs/tree-batch.h"

/*
 * Find the entry NAME, NAME_LENGTH bytes long, in the SIZE bytes of a directory item. Entries whose
 * names have the same hash are in one item.
 * Returns 1 with the entry's inode, 0 if there is no such entry or it is a subvolume, or -EPROTO if
 * an entry reaches beyond the item.
 * Rests on struct btrfs_dir_item (linux/btrfs_tree.h).
 */
int dir_item_find(const void *data, size_t size, const char *name, size_t name_length,
		  uint64_t *ret_inode);

/*
 * Look up NAME in the directory with inode DIRECTORY of the subvolume TREE_ID (0: that of FD).
 * BATCH is used for the search and needs room for an item.
 * Returns 1 with the entry's inode, 0 if there is no such entry or it is a subvolume, or a negative
 * errno as tree_batch_fetch().
 */
int dir_item_lookup(struct tree_batch *batch, int fd, uint64_t tree_id, uint64_t directory,
		    const char *name, size_t name_length, uint64_t *ret_inode);

#endif
