/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXTENT_OWNERS_H
#define FASTPATH_EXTENT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/file-extent.h"
#include "fs/relocation-watch.h"

/* A file that refers to data extents of the examined file. */
struct extent_owner {
	uint64_t subvolid;
	uint64_t inode;
	/* the number of data extents that both files share, and the examined file's bytes there */
	uint64_t extent_count;
	uint64_t bytes;
};

/* A data extent for which FIEMAP's flag and the backreferences contradict each other. */
struct owner_disagreement {
	uint64_t bytenr;
	bool flagged_shared;
	uint64_t other_owner_count;
};

struct extent_owners_ops {
	/* called for each disagreement */
	void (*disagreement)(void *data, const struct owner_disagreement *disagreement);
	/* called now and then during the lookups */
	void (*progress)(void *data, uint64_t extents_asked);
};

struct extent_owners;

/*
 * Collects the data extents of INODE in subvolume SUBVOLID, and then looks up their other owners.
 * Memory grows with the number of owners, and not with that of extents (see record-sort.h).
 * Returns 0 or -ENOMEM; freed with extent_owners_free().
 */
int extent_owners_new(struct extent_owners **ret_owners, uint64_t subvolid, uint64_t inode);
void extent_owners_free(struct extent_owners *owners);

/*
 * Add EXTENT, the number of BYTES that the file has in it, and whether FIEMAP marked it as shared.
 * The caller leaves out holes and inline data, which have no owners to look up.
 * extent_owners_sort() returns an error of this function.
 */
void extent_owners_add(struct extent_owners *owners, const struct file_extent *extent,
		       uint64_t bytes, bool flagged_shared);

/* Ends the adding. Returns 0, or a negative errno as record_sort_finish(). */
int extent_owners_sort(struct extent_owners *owners);

/* As record_sort_failed_in(), after extent_owners_sort() or extent_owners_resolve() has failed. */
const char *extent_owners_failed_in(const struct extent_owners *owners);

/*
 * After extent_owners_sort(): look up each data extent once, on the file system of FD, with WATCH, which
 * can be NULL.
 * Returns 0, or a negative errno as backref_query_extent() and record_sort_next().
 */
int extent_owners_resolve(struct extent_owners *owners, int fd, struct relocation_watch *watch,
			  const struct extent_owners_ops *ops, void *data);

/*
 * After extent_owners_resolve(): the owners in descending order of bytes, valid until the next call
 * that changes OWNERS. The file itself is an owner only of extents to which it refers from several
 * places and no other file refers.
 */
const struct extent_owner *const *extent_owners_list(const struct extent_owners *owners,
						     size_t *ret_count);

/* The number of data extents with more references than the kernel lists, so owners are missing. */
uint64_t extent_owners_incomplete_count(const struct extent_owners *owners);

/*
 * The number of data extents whose answer is wrong if something moved extents meanwhile: the file does
 * not refer to them any more, or FIEMAP can have taken a relocation's copy for another owner. If it is
 * 0, all lookups with a watch were right at their time.
 */
uint64_t extent_owners_doubtful_count(const struct extent_owners *owners);

#endif
