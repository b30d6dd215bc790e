// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "fs/file-extent.h"
#include "num/record-sort.h"
#include "num/saturating.h"
#include "sharing/fragments.h"
#include "sys/cleanup.h"

/* For the extents of one file */
#define MEMORY (2 * 1024 * 1024)

/* A data extent that only this file refers to. */
struct own_extent {
	uint64_t bytenr;
	uint64_t disk_bytes;
	uint64_t ram_bytes;
	/* of RAM_BYTES */
	uint64_t read_bytes;
};

static int compare_extents(const void *a, const void *b)
{
	const struct own_extent *x = a, *y = b;

	return (x->bytenr > y->bytenr) - (x->bytenr < y->bytenr);
}

/* It is not shared, so no two items of the file refer to the same bytes of it. */
static bool merge_extents(void *record, const void *next)
{
	struct own_extent *x = record;
	const struct own_extent *y = next;

	if (x->bytenr != y->bytenr)
		return false;
	x->read_bytes = saturating_add(x->read_bytes, y->read_bytes);
	return true;
}

static const struct record_sort_ops extent_ops = {
	.record_size = sizeof(struct own_extent),
	.compare = compare_extents,
	.merge = merge_extents,
};

struct fragments {
	struct record_sort *own;
	/* where the last piece ends, and its last data extent */
	uint64_t end;
	uint64_t bytenr;
	uint64_t piece_count;
	/* of a copy, and what of the file it has */
	uint64_t copy_bytes;
	uint64_t written_bytes;
	bool is_inline;
	/* where the last item begins in the file: one that is met twice counts once */
	uint64_t offset;
	bool has_offset;
};

static void add_piece(struct fragments *fragments, const struct file_extent *item)
{
	uint64_t begin = item->disk_bytenr, end = item->disk_bytenr + item->disk_bytes;

	if (!item->is_compressed) {
		begin += item->extent_offset;
		end = begin + item->length;
	}
	if (begin != fragments->end &&
	    !(item->is_compressed && item->disk_bytenr == fragments->bytenr))
		fragments->piece_count++;
	fragments->end = end;
	fragments->bytenr = item->disk_bytenr;
}

static void add_copy(struct fragments *fragments, const struct file_extent *item)
{
	uint64_t bytes = item->length;

	if (item->is_prealloc)
		return;
	if (item->is_compressed && item->ram_bytes)
		bytes = mul_div(item->disk_bytes, item->length, item->ram_bytes);
	fragments->copy_bytes = saturating_add(fragments->copy_bytes, bytes);
	fragments->written_bytes = saturating_add(fragments->written_bytes, item->length);
}

/* cp writes zeros for holes and preallocated parts, unless the file has fewer blocks than its size needs. */
static uint64_t zeros_of_copy(const struct fragments *fragments, const struct stat *status)
{
	uint64_t size = status->st_size, block = status->st_blksize;

	if (fragments->is_inline || !size || !block || (uint64_t)status->st_blocks < size / 512)
		return 0;
	size = (size + block - 1) / block * block;
	return size > fragments->written_bytes ? size - fragments->written_bytes : 0;
}

static void add_item(struct fragments *fragments, const struct file_extent *item, bool is_shared)
{
	const struct own_extent own = {
		.bytenr = item->disk_bytenr,
		.disk_bytes = item->disk_bytes,
		.ram_bytes = item->ram_bytes,
		.read_bytes = item->length,
	};

	if (fragments->has_offset && fragments->offset == item->offset)
		return;
	fragments->has_offset = true;
	fragments->offset = item->offset;
	add_piece(fragments, item);
	add_copy(fragments, item);
	if (!is_shared)
		record_sort_add(fragments->own, &own);
}

static int add_items(struct fragments *fragments, struct fiemap_iter *iter, int fd, uint64_t inode,
		     uint32_t fiemap_flags)
{
	CLEANUP(file_extent_iter_freep) struct file_extent_iter *items = NULL;
	struct mapped_extent extent;
	struct file_extent item;
	int ret;

	ret = file_extent_iter_new(&items, fd, inode, 0);
	if (ret < 0)
		return ret;
	fiemap_iter_start(iter, fd, WHOLE_FILE, fiemap_flags);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0) {
		fragments->is_inline |= extent.flags & FIEMAP_EXTENT_DATA_INLINE;
		if (!mapped_extent_is_on_disk(&extent))
			continue;
		while ((ret = file_extent_iter_next(items, extent.offset,
						    extent.offset + extent.length, &item)) > 0)
			if (item.disk_bytenr)
				add_item(fragments, &item, mapped_extent_is_shared(&extent));
		if (ret < 0)
			break;
	}
	return ret;
}

static int add_up_waste(struct record_sort *own, uint64_t *waste_bytes)
{
	struct own_extent extent;
	int ret = record_sort_finish(own);

	while (ret == 0 && (ret = record_sort_next(own, &extent)) > 0) {
		uint64_t unread = extent.ram_bytes > extent.read_bytes ?
					  extent.ram_bytes - extent.read_bytes :
					  0;

		if (unread)
			*waste_bytes = saturating_add(*waste_bytes,
						      mul_div(extent.disk_bytes, unread,
							      extent.ram_bytes));
		ret = 0;
	}
	return ret;
}

int fragments_add(struct fiemap_iter *iter, int fd, uint64_t inode, uint32_t fiemap_flags,
		  struct sharing *sharing)
{
	CLEANUP(record_sort_freep) struct record_sort *own = NULL;
	struct fragments fragments = { 0 };
	uint64_t waste_bytes = 0;
	struct stat status;
	int ret;

	ret = record_sort_new(&own, &extent_ops, MEMORY);
	fragments.own = own;
	if (ret == 0)
		ret = add_items(&fragments, iter, fd, inode, fiemap_flags);
	if (ret == 0)
		ret = add_up_waste(own, &waste_bytes);
	if (ret == 0 && fstat(fd, &status) < 0)
		ret = -errno;
	if (ret < 0)
		return ret;
	sharing->has_fragments = true;
	sharing->piece_count = fragments.piece_count;
	sharing->waste_bytes = waste_bytes;
	sharing->copy_bytes = saturating_add(fragments.copy_bytes,
					     zeros_of_copy(&fragments, &status));
	return 0;
}
