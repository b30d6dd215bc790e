/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXTENT_OWNERS_H
#define FASTPATH_EXTENT_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/file-extent.h"

/* A file that refers to data extents of the file in question. */
struct extent_owner {
	uint64_t subvolid;
	uint64_t inode;
	/* how many of the file's data extents it refers to, and the file's bytes in them */
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
	/* called for each disagreement as it is found */
	void (*disagreement)(void *data, const struct owner_disagreement *disagreement);
	/* called now and then while extents are being asked for */
	void (*progress)(void *data, uint64_t extents_asked);
};

struct extent_owners;

/*
 * Collects the data extents of INODE in subvolume SUBVOLID, and then asks who else holds them.
 * Memory grows with the number of owners, not of extents (see record-sort.h).
 * Returns 0 or -ENOMEM; freed with extent_owners_free().
 */
int extent_owners_new(struct extent_owners **ret_owners, uint64_t subvolid, uint64_t inode);
void extent_owners_free(struct extent_owners *owners);
void extent_owners_freep(struct extent_owners **owners);

/*
 * Add BYTES of the file that lie in EXTENT, and whether FIEMAP marked them as shared.
 * Holes and inline data are not extents to ask for: the caller leaves them out.
 * If there is no room, extent_owners_sort() tells.
 */
void extent_owners_add(struct extent_owners *owners, const struct file_extent *extent,
		       uint64_t bytes, bool flagged_shared);

/* Ends the adding. Returns 0, or a negative errno as record_sort_finish(). */
int extent_owners_sort(struct extent_owners *owners);

/* As record_sort_failed_in(), after extent_owners_sort() or extent_owners_resolve() has failed. */
const char *extent_owners_failed_in(const struct extent_owners *owners);

/*
 * After extent_owners_sort(): ask for each data extent once, on the file system of FD.
 * An extent that is gone by now (the file changed) is passed over.
 * Returns 0, or a negative errno as backref_query_extent() and record_sort_next().
 */
int extent_owners_resolve(struct extent_owners *owners, int fd, const struct extent_owners_ops *ops,
			  void *data);

/*
 * After extent_owners_resolve(): the owners by falling bytes, until the next call that changes
 * OWNERS. The file itself is among them only if it refers to an extent from several places and
 * nobody else does.
 */
const struct extent_owner *const *extent_owners_list(const struct extent_owners *owners,
						     size_t *ret_count);

/* Data extents with more references than the kernel would list; their owners are a part of all. */
uint64_t extent_owners_incomplete_count(const struct extent_owners *owners);

#endif
