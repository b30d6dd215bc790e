/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_SPACE_H
#define FASTPATH_FILE_SPACE_H

#include <stdint.h>

#include "num/byte-range.h"
#include "sys/cleanup.h"

/* A data extent on disk, as a whole. */
struct disk_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	/* the transaction that wrote it, as a file has it */
	uint64_t generation;
	/* of a leaf that refers to it, and the key of the item there: a file and the offset in it */
	uint64_t leaf_generation;
	uint64_t inode;
	uint64_t offset;
};

/* Takes a data extent; the same one can come again. Returns 0, or a negative errno that ends the reading. */
typedef int disk_extent_function(void *data, const struct disk_extent *extent);

struct space_reader;

/*
 * Reads what files and subvolumes have on disk. It belongs to one thread.
 * Returns 0 or -ENOMEM; freed with space_reader_free().
 */
int space_reader_new(struct space_reader **ret_reader);
void space_reader_free(struct space_reader *reader);
DEFINE_FREEP(space_reader_free, struct space_reader)

/*
 * Read the file extent items of the file FD, INODE in its subvolume. Each data extent that the file refers to
 * within RANGE is passed on once.
 * *RET_DISK_BYTES is the sum of these extents' sizes on disk and of the inline data as it is stored.
 * *RET_INLINE_BYTES is the inline data's part of it.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, or a negative errno as tree_search_next() and
 * record_sort_finish().
 */
int space_read_file(struct space_reader *reader, int fd, uint64_t inode, struct byte_range range,
		    disk_extent_function *take, void *data, uint64_t *ret_disk_bytes,
		    uint64_t *ret_inline_bytes);

/*
 * Read the file extent items of the tree SUBVOLID, on the file system of FD, without those in leaves
 * that are older than MIN_GENERATION. Errors as above.
 */
int space_read_subvolume(struct space_reader *reader, int fd, uint64_t subvolid,
			 uint64_t min_generation, disk_extent_function *take, void *data);

#endif
