/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_EXTENT_H
#define FASTPATH_FILE_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/tree-search.h"
#include "sys/cleanup.h"

/* A file extent item: the data extent to which a range of a file refers. */
struct file_extent {
	/* in the file, bytes */
	uint64_t offset;
	uint64_t length;
	/* the data extent; 0 for a hole or inline data */
	uint64_t disk_bytenr;
	/* the size of the data extent, or of the inline data, as it is stored */
	uint64_t disk_bytes;
	/* the size of the data extent when it is uncompressed; 0 for a hole or inline data */
	uint64_t ram_bytes;
	/* where in the (uncompressed) data extent the item starts */
	uint64_t extent_offset;
	/* transaction that wrote the extent, and the leaf that holds the item */
	uint64_t generation;
	uint64_t leaf_generation;
	bool is_inline;
	bool is_prealloc;
	bool is_compressed;
	/* encrypted, or encoded in another way; no kernel writes such extents */
	bool is_encoded;
};

/*
 * Decode ITEM, of type BTRFS_EXTENT_DATA_KEY.
 * Returns 0, or -EPROTO if it is too short, of an unknown type, reaches beyond the end of any file or of
 * its data extent, is larger than any data extent, or is newer than its leaf.
 * Rests on struct btrfs_file_extent_item (linux/btrfs_tree.h).
 */
int file_extent_parse(const struct tree_item *item, struct file_extent *ret_extent);

struct file_extent_iter;

/*
 * The file extent items of INODE, in the subvolume of FD, that touch the file from START
 * on. Returns 0 or -ENOMEM; freed with file_extent_iter_free().
 */
int file_extent_iter_new(struct file_extent_iter **ret_iter, int fd, uint64_t inode,
			 uint64_t start);
void file_extent_iter_free(struct file_extent_iter *iter);
DEFINE_FREEP(file_extent_iter_free, struct file_extent_iter)

/*
 * The next item that overlaps the file's bytes from OFFSET to END (exclusive). Calls must come
 * with ascending ranges. An item that reaches beyond END is returned again for the next range.
 * Returns 1, 0 if there is none (any more), or a negative errno as tree_search_next().
 */
int file_extent_iter_next(struct file_extent_iter *iter, uint64_t offset, uint64_t end,
			  struct file_extent *ret_extent);

#endif
