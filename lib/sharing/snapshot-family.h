/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SNAPSHOT_FAMILY_H
#define FASTPATH_SNAPSHOT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/tree-batch.h"

/* A subvolume or snapshot that exists. */
struct family_member {
	uint64_t subvolid;
	/* the size of all metadata blocks of its tree */
	uint64_t tree_bytes;
	/* a block that was written later belongs to this tree alone */
	uint64_t last_snapshot;
	/* the transaction in which it was made */
	uint64_t otransid;
	uint8_t uuid[16];
	uint8_t parent_uuid[16];
};

struct snapshot_families;

/*
 * Reads all subvolumes of the file system of FD from the root tree. Memory grows with their number.
 * Returns 0, or a negative errno as tree_search_next(); freed with snapshot_families_free().
 * Rests on struct btrfs_root_item.
 */
int snapshot_families_read(struct snapshot_families **ret_families, int fd);
void snapshot_families_free(struct snapshot_families *families);
void snapshot_families_freep(struct snapshot_families **families);

/* Returns NULL if there is no such subvolume. It is valid as long as FAMILIES. */
const struct family_member *snapshot_families_find(const struct snapshot_families *families,
						   uint64_t subvolid);

#define RELATIVES_MAX 4

/* Subvolumes that can have blocks of a tree in common with a member. */
struct relatives {
	size_t count;
	const struct family_member *members[RELATIVES_MAX];
};

/*
 * Of the subvolumes for which ELIGIBLE (NULL: all) is true, those that are next to MEMBER: what it
 * is a snapshot of, the snapshots of the same subvolume before and after it, and the last snapshot
 * of it. A block that MEMBER shares with any other is, as a rule, also in one of these, since a
 * block that was replaced never comes back.
 */
void snapshot_families_relatives(const struct snapshot_families *families,
				 const struct family_member *member,
				 bool (*eligible)(const void *data, uint64_t subvolid),
				 const void *data, struct relatives *ret_relatives);

/*
 * Whether the leaf of GENERATION that has the item KEY is also a leaf of one of RELATIVES. Both trees
 * then have the item in a leaf of this generation. Two leaves of one generation could also be
 * different ones, but only if both were written in one transaction between two snapshots.
 * Returns 1, 0, or a negative errno as tree_search_next().
 */
int relatives_share_leaf(const struct relatives *relatives, struct tree_batch *batch, int fd,
			 struct tree_key key, uint64_t generation);

#endif
