/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SNAPSHOT_CHAINS_H
#define FASTPATH_SNAPSHOT_CHAINS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/tree-batch.h"
#include "sharing/holders.h"

/*
 * Subvolumes in the order in which they were made from each other: the older leaves of each are also in one
 * before it. So those that have a certain leaf are neighbours in such a chain, and to find the last of them
 * takes few lookups.
 */
struct snapshot_chains;

/* Returns 0 or -ENOMEM; freed with snapshot_chains_free(), which accepts NULL. */
int snapshot_chains_new(struct snapshot_chains **ret_chains);
void snapshot_chains_free(struct snapshot_chains *chains);

/* A subvolume, on the file system of FD, to which ARGUMENT led. */
struct chained_subvolume {
	int fd;
	uint64_t subvolid;
	uint32_t argument;
	/* all its leaves that are older are also in the subvolume BASE; 0 if there is none */
	uint64_t shared_before;
	size_t base;
};

/* Add SUBVOLUME. Its number, as in BASE, is how many were added before. Returns 0 or -ENOMEM. */
int snapshot_chains_add(struct snapshot_chains *chains, const struct chained_subvolume *subvolume);

/*
 * Adds subvolume NUMBER to HOLDERS, and those after it that have in common with it the leaf, written in
 * transaction LEAF_GENERATION, that has the item KEY. Fast if it is called for the items of a leaf in order.
 * Returns 0, or a negative errno as tree_search_next().
 */
int snapshot_chains_find(struct snapshot_chains *chains, size_t number, struct tree_key key,
			 uint64_t leaf_generation, struct holders *holders);

#endif
