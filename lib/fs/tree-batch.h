/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TREE_BATCH_H
#define FASTPATH_TREE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "fs/tree-search.h"
#include "sys/cleanup.h"

struct tree_key {
	uint64_t objectid;
	uint32_t type;
	uint64_t offset;
};

/* Less than, equal to or greater than 0 as A sorts before, equal to or after B. */
int tree_key_compare(const struct tree_key *a, const struct tree_key *b);

struct tree_batch;

/*
 * Neighbouring items of a b-tree with any objectids and types, fetched in one call. This is for
 * lookups that need one item, and often the next one too. ROOM is the size of the buffer for the
 * items and their headers, in bytes; it limits the cost of a lookup.
 * Returns 0, or -ENOMEM. Freed with tree_batch_free().
 */
int tree_batch_new(struct tree_batch **ret_batch, size_t room);
void tree_batch_free(struct tree_batch *batch);
DEFINE_FREEP(tree_batch_free, struct tree_batch)

/* From now on, leave out the items of leaves that are older than GENERATION. At first it is 0. */
void tree_batch_skip_older(struct tree_batch *batch, uint64_t generation);

/*
 * Fetch at most MOST items of tree TREE_ID from key MIN to MAX, on the file system of FD. There are
 * fewer items if ROOM is used up. An empty batch means that the tree has no such item.
 * Returns 0, or a negative errno as tree_search_next(); then the batch is empty.
 * Rests on BTRFS_IOC_TREE_SEARCH_V2 (fs/btrfs/ioctl.c).
 */
int tree_batch_fetch(struct tree_batch *batch, int fd, uint64_t tree_id, struct tree_key min,
		     struct tree_key max, uint32_t most);

/* Drop the items that are left. */
void tree_batch_clear(struct tree_batch *batch);

/*
 * The next item of the answer. An item that is too large for ROOM is the only one in its batch, and
 * has a size but no data (NULL), because the kernel copies only its header.
 * Returns 1, 0 after the last one, or -EPROTO for an invalid answer, which ends the batch.
 */
int tree_batch_next(struct tree_batch *batch, struct tree_item *ret_item);

#endif
