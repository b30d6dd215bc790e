/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SNAPSHOT_FAMILY_H
#define FASTPATH_SNAPSHOT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/subvolume.h"
#include "sys/cleanup.h"

/* A subvolume or snapshot that exists. */
struct family_member {
	uint64_t subvolid;
	bool is_read_only;
	/* a block that was written later belongs to this tree alone */
	uint64_t last_snapshot;
	/* zero if they are not known */
	uint8_t uuid[SUBVOLUME_UUID_SIZE];
	uint8_t parent_uuid[SUBVOLUME_UUID_SIZE];
	/*
	 * the transactions in which it was created, in which a file in it was last changed, and in which
	 * its tree was, also by a relocation
	 */
	uint64_t otransid;
	uint64_t ctransid;
	uint64_t generation;
	/* the size of its tree */
	uint64_t tree_bytes;
	/* the subvolume whose directory has its name; 0: it is not known */
	uint64_t parent_subvolid;
	/* when the last one whose name it has was created: in this transaction, its directory was changed */
	uint64_t last_named_transid;
};

struct snapshot_families;

/*
 * Reads all subvolumes of the file system of FD from the root tree. Memory grows with their number.
 * Returns 0, or a negative errno as tree_search_next(); freed with snapshot_families_free().
 * Rests on struct btrfs_root_item.
 */
int snapshot_families_read(struct snapshot_families **ret_families, int fd);
void snapshot_families_free(struct snapshot_families *families);
DEFINE_FREEP(snapshot_families_free, struct snapshot_families)

/* Returns NULL if there is no such subvolume. It is valid as long as FAMILIES. */
const struct family_member *snapshot_families_find(const struct snapshot_families *families,
						   uint64_t subvolid);

/* The one at INDEX, in ascending order of subvolid, or NULL behind the last one. */
const struct family_member *snapshot_families_at(const struct snapshot_families *families,
						 size_t index);

/*
 * Each block of MEMBER's tree that is older than the returned generation is also in the tree of another
 * subvolume: of its origin, of a snapshot of it, or of an earlier snapshot of its origin, if that has not
 * been changed since. IS_LEFT_OUT says which ones do not count. Returns 0 if there is none; else
 * *RET_OTHER, unless RET_OTHER is NULL, is that one.
 */
uint64_t snapshot_families_shared_before(const struct snapshot_families *families,
					 const struct family_member *member,
					 bool (*is_left_out)(const void *data, uint64_t subvolid),
					 const void *data, const struct family_member **ret_other);

/*
 * Whether one of A and B is the origin of the other, or both are snapshots of one origin, which need not
 * exist any more.
 */
bool family_members_are_near(const struct family_member *a, const struct family_member *b);

/* When a subvolume and others began to differ. */
struct snapshot_forks {
	/*
	 * by the index of a member: what was written after this transaction is in one of both only; 0 if
	 * they are not known to be related
	 */
	uint64_t *transids;
	/*
	 * when the subvolume, or the first one of its origins that exists, was made from one that was
	 * deleted; else 0
	 */
	uint64_t unknown_before;
};

/*
 * Find the forks of MEMBER, one of FAMILIES, and all others, over any number of snapshots of snapshots.
 * Returns 0 or -ENOMEM; the caller frees transids.
 */
int snapshot_families_find_forks(const struct snapshot_families *families,
				 const struct family_member *member,
				 struct snapshot_forks *ret_forks);

/* Its index as for snapshot_families_at(). */
size_t snapshot_families_index_of(const struct snapshot_families *families,
				  const struct family_member *member);

/*
 * Of the origin of MEMBER, its snapshots, and the other snapshots of its origin the one whose tree was last
 * changed at nearly the same time, and so has most in common with it. Returns NULL if there is none.
 */
const struct family_member *snapshot_families_nearest(
	const struct snapshot_families *families, const struct family_member *member,
	bool (*is_left_out)(const void *data, uint64_t subvolid), const void *data);

#endif
