// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "base/cleanup.h"
#include "base/record-sort.h"
#include "base/saturating-add.h"
#include "fs/file-extent.h"
#include "sharing/file-space.h"

/* For the extents of one file */
#define MEMORY (2 * 1024 * 1024)
/* As much as a leaf holds: a longer run is in more than one. */
#define RUN_BYTES_MAX (16 * 1024 - 101)
/* Of one item only the header counts, which is there even if the item does not fit. */
#define LOOKUP_ROOM 4096
#define ITEM_HEADER_BYTES 25

struct space_reader {
	struct tree_range *items;
	/* for single items of other trees */
	struct tree_batch *lookup;
	/* what is to be done with what is read */
	const struct space_ops *ops;
	void *data;
	struct item_run run;
	/* of the inode whose items are being read */
	bool has_checksums;
};

int space_reader_new(struct space_reader **ret_reader)
{
	struct space_reader *reader = calloc(1, sizeof(*reader));
	int ret;

	if (!reader)
		return -ENOMEM;
	ret = tree_range_new(&reader->items);
	if (ret == 0)
		ret = tree_batch_new(&reader->lookup, LOOKUP_ROOM);
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
	tree_batch_free(reader->lookup);
	free(reader);
}

void space_reader_freep(struct space_reader **reader)
{
	space_reader_free(*reader);
}

static void start(struct space_reader *reader, const struct space_ops *ops, void *data)
{
	reader->ops = ops;
	reader->data = data;
	reader->run = (struct item_run){ 0 };
}

static int end_run(struct space_reader *reader)
{
	struct item_run run = reader->run;

	reader->run.bytes = 0;
	return run.bytes && reader->ops->run ? reader->ops->run(reader->data, &run) : 0;
}

static int count_item(struct space_reader *reader, const struct tree_item *item)
{
	uint64_t bytes = ITEM_HEADER_BYTES + item->size;
	struct item_run *run = &reader->run;
	int ret = 0;

	if (item->leaf_generation != run->generation || run->bytes + bytes > RUN_BYTES_MAX)
		ret = end_run(reader);
	if (!run->bytes) {
		run->first = (struct tree_key){ item->objectid, item->type, item->offset };
		run->generation = item->leaf_generation;
	}
	run->bytes += bytes;
	return ret;
}

/* The inode's own item comes before those of its extents. */
static void look_at_inode(struct space_reader *reader, const struct tree_item *item)
{
	struct btrfs_inode_item raw;

	reader->has_checksums = true;
	if (item->size < sizeof(raw))
		return;
	memcpy(&raw, item->data, sizeof(raw));
	reader->has_checksums = !(le64toh(raw.flags) & BTRFS_INODE_NODATASUM);
}

/* Returns 1 with a file extent item, 0 at the end, or a negative errno. */
static int next_extent(struct space_reader *reader, struct file_extent *ret_extent)
{
	struct tree_item item;
	int ret;

	while ((ret = tree_range_next(reader->items, &item)) > 0) {
		ret = count_item(reader, &item);
		if (ret < 0)
			return ret;
		if (item.type == BTRFS_INODE_ITEM_KEY)
			look_at_inode(reader, &item);
		if (item.type != BTRFS_EXTENT_DATA_KEY)
			continue;
		ret = file_extent_parse(&item, ret_extent);
		return ret < 0 ? ret : 1;
	}
	return ret < 0 ? ret : end_run(reader);
}

static struct disk_extent disk_extent_of(const struct space_reader *reader,
					 const struct file_extent *extent)
{
	return (struct disk_extent){
		.bytenr = extent->disk_bytenr,
		.disk_bytes = extent->disk_bytes,
		.has_checksums = reader->has_checksums && !extent->is_prealloc,
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
	struct disk_extent *extent = record;
	const struct disk_extent *same = next;

	if (extent->bytenr != same->bytenr)
		return false;
	/* A preallocated extent can be written in part. */
	extent->has_checksums |= same->has_checksums;
	return true;
}

static const struct record_sort_ops extent_ops = {
	.record_size = sizeof(struct disk_extent),
	.compare = compare_extents,
	.merge = merge_extents,
};

static int pass_on_sorted(struct space_reader *reader, struct record_sort *sort,
			  uint64_t *disk_bytes)
{
	struct disk_extent extent;
	int ret;

	ret = record_sort_finish(sort);
	if (ret < 0)
		return ret;
	while ((ret = record_sort_next(sort, &extent)) > 0) {
		*disk_bytes = saturating_add(*disk_bytes, extent.disk_bytes);
		ret = reader->ops->extent(reader->data, &extent);
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
		    const struct space_ops *ops, void *data, uint64_t *ret_disk_bytes,
		    uint64_t *ret_inline_bytes)
{
	CLEANUP(record_sort_freep) struct record_sort *sort = NULL;
	uint64_t disk_bytes = 0, inline_bytes = 0;
	struct file_extent extent;
	int ret;

	ret = record_sort_new(&sort, &extent_ops, MEMORY);
	if (ret < 0)
		return ret;
	start(reader, ops, data);
	tree_range_start(reader->items, fd, 0, (struct tree_key){ inode, 0, 0 },
			 (struct tree_key){ inode, UINT8_MAX, UINT64_MAX });
	while ((ret = next_extent(reader, &extent)) > 0) {
		struct disk_extent on_disk = disk_extent_of(reader, &extent);

		if (!is_in_range(&extent, range))
			continue;
		if (extent.is_inline)
			inline_bytes = saturating_add(inline_bytes, extent.disk_bytes);
		else if (extent.disk_bytenr)
			record_sort_add(sort, &on_disk);
	}
	if (ret == 0)
		ret = pass_on_sorted(reader, sort, &disk_bytes);
	if (ret < 0)
		return ret;

	*ret_disk_bytes = saturating_add(disk_bytes, inline_bytes);
	*ret_inline_bytes = inline_bytes;
	return 0;
}

/* -- a whole subvolume -- */

int space_read_subvolume(struct space_reader *reader, int fd, uint64_t subvolid,
			 const struct space_ops *ops, void *data)
{
	const struct tree_key max = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	struct file_extent extent;
	int ret;

	start(reader, ops, data);
	tree_range_start(reader->items, fd, subvolid, (struct tree_key){ 0 }, max);
	while ((ret = next_extent(reader, &extent)) > 0) {
		struct disk_extent on_disk = disk_extent_of(reader, &extent);

		if (extent.is_inline || !extent.disk_bytenr)
			continue;
		ret = ops->extent(data, &on_disk);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int space_reader_run_is_shared(struct space_reader *reader, int fd,
			       const struct family_member *member,
			       const struct relatives *relatives, const struct item_run *run)
{
	if (!member || run->generation > member->last_snapshot)
		return 0;
	return relatives_share_leaf(relatives, reader->lookup, fd, run->first, run->generation);
}
