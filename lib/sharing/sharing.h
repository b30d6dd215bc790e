/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SHARING_H
#define FASTPATH_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "fs/file-extent.h"
#include "sharing/unique-shared-bytes.h"

/* The sums over the extents of one or several files. Bytes are as in btrfs filesystem du. */
struct sharing {
	uint64_t extent_count;
	uint64_t shared_count;
	/* written and preallocated extents, without inline and delalloc */
	uint64_t total_bytes;
	uint64_t shared_bytes;
	uint64_t inline_bytes;
	uint64_t delalloc_bytes;
	/* the members below are known: see fragments.h */
	bool has_fragments;
	uint64_t piece_count;
	uint64_t waste_bytes;
	uint64_t copy_bytes;
};

/* Whether the kernel marked EXTENT as shared with another file or another part of this one. */
bool mapped_extent_is_shared(const struct mapped_extent *extent);

/* Whether EXTENT has space of its own on disk, so that it is part of total_bytes. */
bool mapped_extent_is_on_disk(const struct mapped_extent *extent);

void sharing_add_extent(struct sharing *sharing, const struct mapped_extent *extent);
void sharing_add(struct sharing *sharing, const struct sharing *other);
uint64_t sharing_exclusive_bytes(const struct sharing *sharing);

/*
 * Add up the extents of FD in RANGE with ITER. If SET is not NULL, the shared extents are added to
 * it.
 * Returns 0, or a negative errno as fiemap_iter_next() and unique_shared_bytes_add().
 */
int sharing_of_file(struct fiemap_iter *iter, int fd, struct byte_range range,
		    uint32_t fiemap_flags, struct unique_shared_bytes *set,
		    struct sharing *ret_sharing);

/* How the kernel can decide whether the data extent of a file extent item is shared. */
enum share_decision {
	/* written after the last snapshot: only the extent's own references are examined */
	SHARE_DECISION_GENERATION,
	/* the leaf is not newer than the last snapshot: no walk if the leaf is known to be shared */
	SHARE_DECISION_LEAF,
	/* an older extent in a newer leaf: every path to a root is walked */
	SHARE_DECISION_WALK,
	SHARE_DECISION_COUNT,
};

/*
 * How EXTENT, not a hole and not inline, is decided in a subvolume whose last snapshot was
 * taken in transaction LAST_SNAPSHOT (0: never).
 * Rests on btrfs_is_data_extent_shared() (fs/btrfs/backref.c).
 */
enum share_decision share_decision_of(const struct file_extent *extent, uint64_t last_snapshot);

#endif
