/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TREE_RANGE_H
#define FASTPATH_TREE_RANGE_H

#include <stdint.h>

#include "fs/tree-batch.h"
#include "fs/tree-search.h"
#include "sys/cleanup.h"

struct tree_range;

/*
 * Reads the items of a b-tree from one key to another, of any objectids and types, in as many calls
 * as it takes. It can be started again for other keys.
 * Returns 0 or -ENOMEM; freed with tree_range_free().
 */
int tree_range_new(struct tree_range **ret_range);
void tree_range_free(struct tree_range *range);
DEFINE_FREEP(tree_range_free, struct tree_range)

/* Begin at MIN and end at MAX (inclusive) in tree TREE_ID (0: the subvolume that holds FD). */
void tree_range_start(struct tree_range *range, int fd, uint64_t tree_id, struct tree_key min,
		      struct tree_key max);

/*
 * Right after tree_range_start(): leave out the items of leaves that are older than GENERATION. The
 * kernel does not read these, so it takes as long as there are newer ones.
 */
void tree_range_skip_older(struct tree_range *range, uint64_t generation);

/*
 * The next item, in ascending order. It is valid until the next call.
 * Returns 1, 0 at the end, or a negative errno as tree_search_next().
 */
int tree_range_next(struct tree_range *range, struct tree_item *ret_item);

/*
 * Passes each item from MIN to MAX in tree TREE_ID to TAKE, until it returns a negative errno.
 * Returns 0, what TAKE returned, -ENOMEM, or a negative errno as tree_search_next().
 */
int tree_range_each(int fd, uint64_t tree_id, struct tree_key min, struct tree_key max,
		    int (*take)(void *data, const struct tree_item *item), void *data);

#endif
