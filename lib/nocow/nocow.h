/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_H
#define FASTPATH_NOCOW_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "fs/file-extent.h"
#include "fs/unwritable-chunks.h"
#include "sys/cleanup.h"

/* Where the next write to a range of a file goes. */
enum nocow_fate {
	/* it goes to the blocks that the range has now */
	NOCOW_IN_PLACE,
	/* it goes to new blocks, and the range no longer refers to the old ones */
	NOCOW_COPIED,
	/* it goes to new blocks, and the range has none now */
	NOCOW_NEW,
	/* it depends on later events, or is unknown */
	NOCOW_UNKNOWN,
};

/* The reason. Those that make the kernel copy are in the order in which it checks them. */
enum nocow_reason {
	/* in place: preallocated and not written yet; or written in a file with nodatacow */
	NOCOW_REASON_PREALLOC,
	NOCOW_REASON_NODATACOW,
	/* copied: the inode has neither the flag nodatacow nor prealloc */
	NOCOW_REASON_NO_FLAG,
	/* copied: the extent is no newer than the subvolume's last snapshot */
	NOCOW_REASON_GENERATION,
	/* copied: compressed, or encoded in another way */
	NOCOW_REASON_COMPRESSED,
	/* copied: the chunk is on a device that is not writable, such as a seed device */
	NOCOW_REASON_READ_ONLY,
	/* copied: another file, or another place in this file, refers to the extent */
	NOCOW_REASON_SHARED,
	/* copied: the range has checksums, which would become wrong */
	NOCOW_REASON_CHECKSUMS,
	/* new */
	NOCOW_REASON_HOLE,
	NOCOW_REASON_INLINE,
	/* unknown: preallocated, but the inode lacks the flag that buffered writes need */
	NOCOW_REASON_DIRECT_ONLY,
	/* unknown: the data is not written back yet, and has no extent */
	NOCOW_REASON_DELALLOC,
	/* unknown: the privilege to search trees is missing, one cannot be read, or the file has changed */
	NOCOW_REASON_UNKNOWN,
	NOCOW_REASON_COUNT,
};

/* A reason in a set of reasons. */
#define NOCOW_REASON_BIT(reason) (1u << (reason))

const char *nocow_reason_name(enum nocow_reason reason);
enum nocow_fate nocow_reason_fate(enum nocow_reason reason);

/* Whether a range has checksums. */
enum nocow_checksums {
	NOCOW_CHECKSUMS_NOT_ASKED,
	NOCOW_CHECKSUMS_NONE,
	NOCOW_CHECKSUMS_EXIST,
};

/* A range of a file that has the same answer everywhere. */
struct nocow_range {
	uint64_t offset;
	uint64_t length;
	/* where the range is on disk now, 0 if it has no extent of its own */
	uint64_t bytenr;
	/* if several reasons make the kernel copy, the first one that it checks */
	enum nocow_reason reason;
	enum nocow_checksums checksums;
	/* NOCOW_REASON_BIT() of REASON, and of the others that are known; see nocow_iter_next() */
	uint32_t reasons;
};

/* What is known about a file before its extents are examined. */
struct nocow_file {
	int fd;
	uint64_t inode;
	uint64_t size;
	/* how many names it has */
	uint32_t link_count;
	/* INODE_* */
	uint32_t inode_flags;
	/* false without the privilege to search trees; then the members below are not set */
	bool searchable;
	uint64_t subvolid;
	/* transaction of the subvolume's last snapshot */
	uint64_t last_snapshot;
	/* of the file system; NULL: there are none */
	const struct unwritable_chunks *unwritable;
	/* a relocation may have copies, which are no other owners */
	bool may_have_copies;
	/* extents are being moved: what other trees and FIEMAP say of sharing is not known to be right */
	bool is_moving;
};

/*
 * The kernel's decision about a write to ITEM, from the item alone. SHARED is the flag in FIEMAP.
 * NOCOW_REASON_PREALLOC, NOCOW_REASON_NODATACOW and NOCOW_REASON_DIRECT_ONLY are correct unless the
 * extent is shared or has checksums.
 * Rests on can_nocow_file_extent(), btrfs_extent_readonly() and should_nocow() (fs/btrfs/inode.c).
 */
enum nocow_reason nocow_reason_of_item(const struct nocow_file *file,
				       const struct file_extent *item, bool shared);

/* The same without privileges, from the inode's flags and an extent in FIEMAP. */
enum nocow_reason nocow_reason_of_mapped(const struct nocow_file *file,
					 const struct mapped_extent *extent);

struct nocow_iter;

/*
 * Iterates over the ranges of a file. Reusable. Its memory does not depend on the number of ranges.
 * Returns 0 or -ENOMEM; freed with nocow_iter_free().
 */
int nocow_iter_new(struct nocow_iter **ret_iter);
void nocow_iter_free(struct nocow_iter *iter);
DEFINE_FREEP(nocow_iter_free, struct nocow_iter)

/*
 * Start again with RANGE of FILE, which is copied; its FD stays the caller's. FIEMAP_FLAGS are
 * FIEMAP_FLAG_*. Returns 0, or a negative errno as checksum_search_start().
 */
int nocow_iter_start(struct nocow_iter *iter, const struct nocow_file *file,
		     struct byte_range range, uint32_t fiemap_flags);

/*
 * The next range, in ascending order and without gaps, holes included, up to the end of the file
 * or the last extent after it.
 *
 * The trees are older than memory: inode flags and references reach them with a commit. While
 * references wait for the commit, the kernel can take an extent for shared although it is not. So
 * the answers are those of the last commit (see filesystem_commit()). FIEMAP includes later
 * references.
 *
 * Without the flag in the inode no other reason is looked for, because a new file is needed, and that
 * has none of them. Otherwise a range is looked up in the extent tree, and in the checksum tree unless
 * it is compressed.
 *
 * The item of an extent that is in a snapshot often names this alone as its owner. NOCOW_REASON_SHARED
 * comes after NOCOW_REASON_GENERATION only if the item names another file or another place, or an
 * unrelated subvolume.
 *
 * Returns 1, 0 at the end, or a negative errno as fiemap_iter_next() and tree_search_next().
 */
int nocow_iter_next(struct nocow_iter *iter, struct nocow_range *ret_range);

/* The number of extents in FIEMAP that nocow_iter_next() has met since nocow_iter_start(). */
uint64_t nocow_iter_extent_count(const struct nocow_iter *iter);

/*
 * The number of ranges for which a relocation's copy can have been taken for another owner. Without
 * SEARCHABLE these are all that FIEMAP marks as shared; else copies are looked for with MAY_HAVE_COPIES.
 */
uint64_t nocow_iter_doubtful_count(const struct nocow_iter *iter);

/* Whether other trees were searched for the addresses of extents since nocow_iter_start(). */
bool nocow_iter_has_searched(const struct nocow_iter *iter);

/*
 * 0, or the negative errno of a search in the extent or checksum tree since nocow_iter_start(): -ENOENT if
 * it is missing, as with the mount option rescue=, -EIO or -EUCLEAN if it is damaged. Such ranges are unknown
 * unless something else decides.
 */
int nocow_iter_tree_error(const struct nocow_iter *iter);

/* The sums over the ranges of one or several files. */
struct nocow_sums {
	uint64_t counts[NOCOW_REASON_COUNT];
	uint64_t bytes[NOCOW_REASON_COUNT];
	/* the bytes with checksums, and the bytes for which checksums were looked up */
	uint64_t csum_bytes;
	uint64_t csum_asked_bytes;
	/* NOCOW_REASON_BIT() of all reasons of the ranges */
	uint32_t reasons;
	/* not counted by nocow_sums_add_range() */
	uint64_t extent_count;
};

void nocow_sums_add_range(struct nocow_sums *sums, const struct nocow_range *range);
void nocow_sums_add(struct nocow_sums *sums, const struct nocow_sums *other);
uint64_t nocow_sums_bytes_of(const struct nocow_sums *sums, enum nocow_fate fate);

#endif
