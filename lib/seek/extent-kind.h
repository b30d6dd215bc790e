/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_EXTENT_KIND_H
#define FASTPATH_EXTENT_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"

/* The kind of extent of a part of a file. */
enum extent_kind {
	EXTENT_KIND_HOLE,
	EXTENT_KIND_REGULAR,
	EXTENT_KIND_INLINE,
	/* allocated and never written; it reads as zeros */
	EXTENT_KIND_PREALLOC,
	/* written and not yet allocated */
	EXTENT_KIND_DELALLOC,
	EXTENT_KIND_COUNT,
};

/* "hole", "regular", "inline", "prealloc", "delalloc" */
extern const char *const extent_kind_names[EXTENT_KIND_COUNT];

/* The kind of EXTENT by its flags. */
enum extent_kind extent_kind_of(const struct mapped_extent *extent);

/* Whether SEEK_DATA has to find such a part. */
bool extent_kind_is_data(enum extent_kind kind);

/*
 * A walk over a file that finds the kind of each part in FIEMAP. The iterator stays the caller's,
 * who must not use it for something else during the walk.
 */
struct kind_walk {
	struct fiemap_iter *iter;
	/* the last extent that was read; its length is 0 after the last extent of the file */
	struct mapped_extent extent;
};

/* Start with the part RANGE of FD; never writes data back. Returns 0 or as fiemap_iter_next(). */
int kind_walk_start(struct kind_walk *walk, struct fiemap_iter *iter, int fd,
		    struct byte_range range);

/*
 * The kind of the file at OFFSET, and the offset where the kind changes, at most END. Offsets must
 * ascend from call to call. Adjacent extents of the same kind count as one.
 * Returns 0 or as fiemap_iter_next().
 */
int kind_walk_at(struct kind_walk *walk, uint64_t offset, uint64_t end, enum extent_kind *ret_kind,
		 uint64_t *ret_end);

#endif
