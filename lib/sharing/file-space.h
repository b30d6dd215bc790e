/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_SPACE_H
#define FASTPATH_FILE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte-range.h"
#include "fs/tree-range.h"
#include "sharing/snapshot-family.h"

/* A data extent on disk, as a whole. */
struct disk_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	/* written with checksums */
	bool has_checksums;
};

/* Items that follow each other in a tree and are, as far as one can see, in one leaf. */
struct item_run {
	struct tree_key first;
	uint64_t generation;
	/* what they take in the leaf, with their headers */
	uint64_t bytes;
};

/* Each function returns 0, or a negative errno that ends the reading. */
struct space_ops {
	/* a data extent; the same one can come again */
	int (*extent)(void *data, const struct disk_extent *extent);
	/* NULL if it is not asked for */
	int (*run)(void *data, const struct item_run *run);
};

struct space_reader;

/*
 * Reads what files and subvolumes have on disk. It belongs to one thread.
 * Returns 0 or -ENOMEM; freed with space_reader_free().
 */
int space_reader_new(struct space_reader **ret_reader);
void space_reader_free(struct space_reader *reader);
void space_reader_freep(struct space_reader **reader);

/*
 * Read all items of the file FD, INODE in its subvolume. Each data extent that the file refers to
 * within RANGE is passed on once.
 * *RET_DISK_BYTES is the sum of these extents' sizes on disk and of the inline data as it is stored.
 * *RET_INLINE_BYTES is the inline data's part of it.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, or a negative errno as tree_search_next() and
 * record_sort_finish().
 */
int space_read_file(struct space_reader *reader, int fd, uint64_t inode, struct byte_range range,
		    const struct space_ops *ops, void *data, uint64_t *ret_disk_bytes,
		    uint64_t *ret_inline_bytes);

/* Read all items of the tree SUBVOLID, on the file system of FD. Errors as above. */
int space_read_subvolume(struct space_reader *reader, int fd, uint64_t subvolid,
			 const struct space_ops *ops, void *data);

/*
 * Whether the leaf of RUN, in the tree of MEMBER, is also in the tree of one of RELATIVES. Nothing is
 * looked up if it was written after the last snapshot. Can be called by the functions of
 * struct space_ops.
 * Returns 1, 0 (also if MEMBER is NULL), or a negative errno as tree_search_next().
 */
int space_reader_run_is_shared(struct space_reader *reader, int fd,
			       const struct family_member *member,
			       const struct relatives *relatives, const struct item_run *run);

#endif
