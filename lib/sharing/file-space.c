// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/file-extent.h"
#include "fs/tree-range.h"
#include "num/record-sort.h"
#include "num/saturating.h"
#include "sharing/file-space.h"
#include "sys/cleanup.h"

/* For the extents of one file */
#define MEMORY (2 * 1024 * 1024)

struct space_reader {
	struct tree_range *items;
};

int space_reader_new(struct space_reader **ret_reader)
{
	struct space_reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader)
		return -ENOMEM;
	ret = tree_range_new(&reader->items);
	if (ret < 0) {
		space_reader_free(reader);
		return ret;
	}

	*ret_reader = reader;
	return 0;
}

void space_reader_free(struct space_reader *reader)
{
	if (!reader)
		return;
	tree_range_free(reader->items);
	free(reader);
}

/* Returns 1 with a file extent item, 0 at the end, or a negative errno. */
static int next_extent(struct space_reader *reader, uint64_t *ret_inode,
		       struct file_extent *ret_extent)
{
	struct tree_item item;
	int ret;

	while ((ret = tree_range_next(reader->items, &item)) > 0) {
		if (item.type != BTRFS_EXTENT_DATA_KEY)
			continue;
		*ret_inode = item.objectid;
		ret = file_extent_parse(&item, ret_extent);
		return ret < 0 ? ret : 1;
	}
	return ret;
}

static struct disk_extent disk_extent_of(const struct file_extent *extent, uint64_t inode)
{
	return (struct disk_extent){
		.bytenr = extent->disk_bytenr,
		.disk_bytes = extent->disk_bytes,
		.generation = extent->generation,
		.leaf_generation = extent->leaf_generation,
		.inode = inode,
		.offset = extent->offset,
	};
}

/* -- one file: each extent once -- */

static int compare_extents(const void *a, const void *b)
{
	const struct disk_extent *x = a, *y = b;

	return (x->bytenr > y->bytenr) - (x->bytenr < y->bytenr);
}

static bool merge_extents(void *record, const void *next)
{
	return compare_extents(record, next) == 0;
}

static const struct record_sort_ops extent_ops = {
	.record_size = sizeof(struct disk_extent),
	.compare = compare_extents,
	.merge = merge_extents,
};

static int pass_on_sorted(struct record_sort *sort, disk_extent_function *take, void *data,
			  uint64_t *disk_bytes)
{
	struct disk_extent extent;
	int ret;

	ret = record_sort_finish(sort);
	if (ret < 0)
		return ret;
	while ((ret = record_sort_next(sort, &extent)) > 0) {
		*disk_bytes = saturating_add(*disk_bytes, extent.disk_bytes);
		ret = take(data, &extent);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static bool is_in_range(const struct file_extent *extent, struct byte_range range)
{
	return extent->offset < byte_range_end(range) &&
	       extent->offset + extent->length > range.offset;
}

int space_read_file(struct space_reader *reader, int fd, uint64_t inode, struct byte_range range,
		    disk_extent_function *take, void *data, uint64_t *ret_disk_bytes,
		    uint64_t *ret_inline_bytes)
{
	CLEANUP(record_sort_freep) struct record_sort *sort = NULL;
	uint64_t disk_bytes = 0, inline_bytes = 0;
	struct file_extent extent;
	int ret;

	ret = record_sort_new(&sort, &extent_ops, MEMORY);
	if (ret < 0)
		return ret;
	tree_range_start(reader->items, fd, 0, (struct tree_key){ inode, BTRFS_EXTENT_DATA_KEY, 0 },
			 (struct tree_key){ inode, BTRFS_EXTENT_DATA_KEY, UINT64_MAX });
	while ((ret = next_extent(reader, &inode, &extent)) > 0) {
		struct disk_extent on_disk = disk_extent_of(&extent, inode);

		if (!is_in_range(&extent, range))
			continue;
		if (extent.is_inline)
			inline_bytes = saturating_add(inline_bytes, extent.disk_bytes);
		else if (extent.disk_bytenr)
			record_sort_add(sort, &on_disk);
	}
	if (ret == 0)
		ret = pass_on_sorted(sort, take, data, &disk_bytes);
	if (ret < 0)
		return ret;

	*ret_disk_bytes = saturating_add(disk_bytes, inline_bytes);
	*ret_inline_bytes = inline_bytes;
	return 0;
}

/* -- a whole subvolume -- */

int space_read_subvolume(struct space_reader *reader, int fd, uint64_t subvolid,
			 uint64_t min_generation, disk_extent_function *take, void *data)
{
	const struct tree_key max = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	struct file_extent extent;
	uint64_t inode;
	int ret;

	tree_range_start(reader->items, fd, subvolid, (struct tree_key){ 0 }, max);
	tree_range_skip_older(reader->items, min_generation);
	while ((ret = next_extent(reader, &inode, &extent)) > 0) {
		struct disk_extent on_disk = disk_extent_of(&extent, inode);

		if (extent.is_inline || !extent.disk_bytenr)
			continue;
		ret = take(data, &on_disk);
		if (ret < 0)
			return ret;
	}
	return ret;
}
