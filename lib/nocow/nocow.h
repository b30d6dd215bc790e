/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_H
#define FASTPATH_NOCOW_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "fs/file-extent.h"

/* What becomes of the next write to a range of a file. */
enum nocow_fate {
	/* it goes to the blocks that are there */
	NOCOW_IN_PLACE,
	/* it goes to other blocks, and those that are there are given up */
	NOCOW_COPIED,
	/* it gets new blocks, since there are none */
	NOCOW_NEW,
	/* depends on what happens first, or is unknown */
	NOCOW_UNKNOWN,
};

/* Why; of those that copy the first one that the kernel comes to. */
enum nocow_reason {
	/* in place: preallocated and not written yet, or written by a file with nodatacow */
	NOCOW_REASON_PREALLOC,
	NOCOW_REASON_NODATACOW,
	/* copied: the inode has no flag that would let it be otherwise */
	NOCOW_REASON_NO_FLAG,
	/* copied: the extent is no newer than the subvolume's last snapshot */
	NOCOW_REASON_GENERATION,
	/* copied: compressed, or encoded in another way */
	NOCOW_REASON_COMPRESSED,
	/* copied: somebody else refers to the extent, or the file does from another place */
	NOCOW_REASON_SHARED,
	/* copied: checksums exist, which would no longer be right */
	NOCOW_REASON_CHECKSUMS,
	/* new */
	NOCOW_REASON_HOLE,
	NOCOW_REASON_INLINE,
	/* unknown: preallocated, but the inode does not say so, as buffered writes want it to */
	NOCOW_REASON_DIRECT_ONLY,
	/* unknown: waits to be written back, and has no extent yet */
	NOCOW_REASON_DELALLOC,
	/* unknown: asking needs a privilege, or the file has changed */
	NOCOW_REASON_UNKNOWN,
	NOCOW_REASON_COUNT,
};

const char *nocow_reason_name(enum nocow_reason reason);
enum nocow_fate nocow_reason_fate(enum nocow_reason reason);

/* Whether there are checksums. */
enum nocow_checksums {
	NOCOW_CHECKSUMS_NOT_ASKED,
	NOCOW_CHECKSUMS_NONE,
	NOCOW_CHECKSUMS_EXIST,
};

/* A range of a file for which the answer is one and the same. */
struct nocow_range {
	uint64_t offset;
	uint64_t length;
	/* where it lies now, 0: nowhere of its own */
	uint64_t bytenr;
	enum nocow_reason reason;
	enum nocow_checksums checksums;
};

/* What is known of a file before its extents are looked at. */
struct nocow_file {
	int fd;
	uint64_t inode;
	uint64_t size;
	/* INODE_* */
	uint32_t inode_flags;
	/* false where trees may not be searched; then the rest is not set */
	bool searchable;
	uint64_t subvolid;
	/* transaction of the subvolume's last snapshot */
	uint64_t last_snapshot;
};

/*
 * What the kernel decides about a write to ITEM from the item alone; SHARED is what FIEMAP says.
 * NOCOW_REASON_PREALLOC, NOCOW_REASON_NODATACOW and NOCOW_REASON_DIRECT_ONLY hold unless the extent
 * turns out to be shared or to have checksums.
 * Rests on can_nocow_file_extent() and should_nocow() (fs/btrfs/inode.c).
 */
enum nocow_reason nocow_reason_of_item(const struct nocow_file *file,
				       const struct file_extent *item, bool shared);

/* The same from what anybody may know: the inode's flags and an extent from FIEMAP. */
enum nocow_reason nocow_reason_of_mapped(const struct nocow_file *file,
					 const struct mapped_extent *extent);

struct nocow_iter;

/*
 * Goes over the ranges of a file; reusable, and its buffers are what it owns, however many pass.
 * Returns 0 or -ENOMEM; freed with nocow_iter_free().
 */
int nocow_iter_new(struct nocow_iter **ret_iter);
void nocow_iter_free(struct nocow_iter *iter);
void nocow_iter_freep(struct nocow_iter **iter);

/*
 * Start over with RANGE of FILE, which is copied; its FD stays the caller's. FIEMAP_FLAGS are
 * FIEMAP_FLAG_*. Returns 0, or a negative errno as checksum_search_start().
 */
int nocow_iter_start(struct nocow_iter *iter, const struct nocow_file *file,
		     struct byte_range range, uint32_t fiemap_flags);

/*
 * The next range, in ascending order and without gaps, holes included, up to the end of the file
 * or the last extent after it.
 *
 * The trees lag behind memory: inode flags and references get there with a commit, and while
 * references wait for it the kernel can take an extent for shared that is not. So the answers hold
 * for what was committed before (see filesystem_commit()). FIEMAP includes later references.
 *
 * Only what may go in place by its item is asked for in the extent tree, and in the checksum tree
 * also what may not for another reason than a missing flag.
 *
 * Returns 1, 0 at the end, or a negative errno as fiemap_iter_next() and tree_search_next().
 */
int nocow_iter_next(struct nocow_iter *iter, struct nocow_range *ret_range);

/* What the ranges of a file, or of several, add up to. */
struct nocow_sums {
	uint64_t counts[NOCOW_REASON_COUNT];
	uint64_t bytes[NOCOW_REASON_COUNT];
	/* bytes with checksums, where those were asked for, and how much that was */
	uint64_t csum_bytes;
	uint64_t csum_asked_bytes;
};

void nocow_sums_add_range(struct nocow_sums *sums, const struct nocow_range *range);
void nocow_sums_add(struct nocow_sums *sums, const struct nocow_sums *other);
uint64_t nocow_sums_bytes_of(const struct nocow_sums *sums, enum nocow_fate fate);

#endif
