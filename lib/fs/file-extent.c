// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/file-extent.h"

/* No item covers more, preallocated or not, so one that starts earlier cannot reach START. */
#define FILE_EXTENT_LENGTH_MAX (256ULL * 1024 * 1024)

struct file_extent_iter {
	struct tree_search *search;
	struct file_extent current;
	bool have_current;
	/* end of the last range that the current item was given to */
	uint64_t given_up_to;
};

/* A hole has no data extent, and inline data is no larger than its item. */
static bool is_within_data(const struct file_extent *extent)
{
	uint64_t bytes = extent->ram_bytes;

	if (extent->is_inline || !extent->disk_bytenr)
		return true;
	return extent->disk_bytes <= FILE_EXTENT_LENGTH_MAX && bytes <= FILE_EXTENT_LENGTH_MAX &&
	       extent->extent_offset <= bytes && extent->length <= bytes - extent->extent_offset;
}

int file_extent_parse(const struct tree_item *item, struct file_extent *ret_extent)
{
	struct btrfs_file_extent_item raw = { 0 };
	struct file_extent extent = { 0 };
	const size_t inline_start = offsetof(struct btrfs_file_extent_item, disk_bytenr);
	uint64_t end;

	if (item->size < inline_start)
		return -EPROTO;
	memcpy(&raw, item->data, item->size < sizeof(raw) ? item->size : sizeof(raw));

	extent.offset = item->offset;
	extent.leaf_generation = item->leaf_generation;
	extent.generation = btrfs_stack_file_extent_generation(&raw);
	extent.is_compressed = btrfs_stack_file_extent_compression(&raw) != 0;
	extent.is_encoded = raw.encryption || raw.other_encoding;

	switch (btrfs_stack_file_extent_type(&raw)) {
	case BTRFS_FILE_EXTENT_INLINE:
		extent.is_inline = true;
		extent.length = btrfs_stack_file_extent_ram_bytes(&raw);
		extent.disk_bytes = item->size - inline_start;
		break;
	case BTRFS_FILE_EXTENT_PREALLOC:
		extent.is_prealloc = true;
		/* fall through */
	case BTRFS_FILE_EXTENT_REG:
		if (item->size < sizeof(raw))
			return -EPROTO;
		extent.disk_bytenr = btrfs_stack_file_extent_disk_bytenr(&raw);
		extent.disk_bytes = le64toh(raw.disk_num_bytes);
		/* Old kernels left wrong ram_bytes in uncompressed extents, and never read them. */
		extent.ram_bytes = extent.is_compressed ? le64toh(raw.ram_bytes) :
							  extent.disk_bytes;
		extent.extent_offset = btrfs_stack_file_extent_offset(&raw);
		extent.length = btrfs_stack_file_extent_num_bytes(&raw);
		break;
	default:
		return -EPROTO;
	}
	if (__builtin_add_overflow(extent.offset, extent.length, &end) ||
	    extent.generation > extent.leaf_generation || !is_within_data(&extent))
		return -EPROTO;

	*ret_extent = extent;
	return 0;
}

int file_extent_iter_new(struct file_extent_iter **ret_iter, int fd, uint64_t inode, uint64_t start)
{
	struct file_extent_iter *iter = calloc(1, sizeof(*iter));
	uint64_t min_offset = start > FILE_EXTENT_LENGTH_MAX ? start - FILE_EXTENT_LENGTH_MAX : 0;
	int ret;

	if (!iter)
		return -ENOMEM;

	ret = tree_search_new(&iter->search, fd, 0, inode, BTRFS_EXTENT_DATA_KEY, min_offset,
			      UINT64_MAX);
	if (ret < 0) {
		free(iter);
		return ret;
	}

	*ret_iter = iter;
	return 0;
}

void file_extent_iter_free(struct file_extent_iter *iter)
{
	if (!iter)
		return;
	tree_search_free(iter->search);
	free(iter);
}

static int advance(struct file_extent_iter *iter)
{
	struct tree_item item;
	int ret;

	iter->have_current = false;
	ret = tree_search_next(iter->search, &item);
	if (ret <= 0)
		return ret;

	ret = file_extent_parse(&item, &iter->current);
	if (ret < 0)
		return ret;

	iter->have_current = true;
	iter->given_up_to = 0;
	return 1;
}

int file_extent_iter_next(struct file_extent_iter *iter, uint64_t offset, uint64_t end,
			  struct file_extent *ret_extent)
{
	const struct file_extent *current = &iter->current;

	for (;;) {
		int ret;

		if (iter->have_current) {
			uint64_t current_end = current->offset + current->length;

			if (current->offset >= end)
				return 0;
			if (current_end > offset && iter->given_up_to < end) {
				iter->given_up_to = end;
				*ret_extent = *current;
				return 1;
			}
			if (current_end > end)
				return 0;
		}

		ret = advance(iter);
		if (ret <= 0)
			return ret;
	}
}
