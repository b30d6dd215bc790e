// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/backref.h"
#include "fs/file-extent.h"
#include "fs/file-look.h"
#include "fs/filesystem.h"
#include "fs/subvolume.h"
#include "sharing/without-snapshots.h"
#include "sys/cleanup.h"

struct without_snapshots {
	struct backref_query *query;
	/* the file */
	int fd;
	uint64_t inode;
	/* its subvolume, 0 at first, and the read-only snapshots of it in ascending order */
	uint8_t fsid[FSID_SIZE];
	uint64_t subvolid;
	uint64_t *snapshots;
	size_t snapshot_count;
	/* the last data extent that was looked up */
	uint64_t bytenr;
	bool is_shared;
};

int without_snapshots_new(struct without_snapshots **ret_without)
{
	struct without_snapshots *without = calloc(1, sizeof(*without));
	int ret;

	if (!without)
		return -ENOMEM;
	ret = backref_query_new(&without->query);
	if (ret < 0) {
		free(without);
		return ret;
	}
	*ret_without = without;
	return 0;
}

void without_snapshots_free(struct without_snapshots *without)
{
	if (!without)
		return;
	backref_query_free(without->query);
	free(without->snapshots);
	free(without);
}

static int find_snapshots(struct without_snapshots *without, int fd)
{
	uint8_t fsid[FSID_SIZE];
	uint64_t subvolid;
	int ret = filesystem_id_of(fd, fsid);

	if (ret == 0)
		ret = subvolume_id_of(fd, &subvolid);
	if (ret < 0)
		return ret;
	/* Files of one subvolume follow each other. */
	if (without->subvolid == subvolid && memcmp(without->fsid, fsid, FSID_SIZE) == 0)
		return 0;
	free(without->snapshots);
	without->snapshots = NULL;
	without->snapshot_count = 0;
	without->subvolid = 0;
	ret = subvolume_read_only_snapshots(fd, subvolid, &without->snapshots,
					    &without->snapshot_count);
	if (ret < 0)
		return ret;
	memcpy(without->fsid, fsid, FSID_SIZE);
	without->subvolid = subvolid;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_ignored(const struct without_snapshots *without, uint64_t root)
{
	return without->snapshot_count &&
	       bsearch(&root, without->snapshots, without->snapshot_count, sizeof(root),
		       compare_ids);
}

/*
 * Where the data extent of the file extent item at OFFSET would begin in the file: items with the
 * same begin are one reference. Returns 0, or -ENOENT if the item is another one now.
 */
static int find_begin(const struct without_snapshots *without, uint64_t offset, uint64_t bytenr,
		      uint64_t *ret_begin)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct file_extent extent;
	struct tree_item item;
	int ret;

	ret = tree_search_new(&search, without->fd, without->subvolid, without->inode,
			      BTRFS_EXTENT_DATA_KEY, offset, offset);
	if (ret == 0)
		ret = tree_search_next(search, &item);
	if (ret <= 0)
		return ret < 0 ? ret : -ENOENT;
	ret = file_extent_parse(&item, &extent);
	if (ret < 0)
		return ret;
	*ret_begin = extent.offset - extent.extent_offset;
	return extent.disk_bytenr == bytenr ? 0 : -ENOENT;
}

static bool is_of_file(const struct without_snapshots *without, const struct extent_ref *ref)
{
	return ref->root == without->subvolid && ref->inode == without->inode;
}

/* Whether the file itself refers to the extent in two ways. Returns 1, 0 or a negative errno. */
static int is_shared_within(const struct without_snapshots *without, uint64_t bytenr,
			    const struct extent_ref *refs, size_t count)
{
	uint64_t first = 0, begin;
	bool has_first = false;

	for (size_t i = 0; i < count; i++) {
		int ret;

		if (!is_of_file(without, &refs[i]))
			continue;
		ret = find_begin(without, refs[i].offset, bytenr, &begin);
		if (ret < 0)
			return ret;
		if (has_first && begin != first)
			return 1;
		first = begin;
		has_first = true;
	}
	return 0;
}

/* Whether anything but the file and the snapshots refers to the data extent: 1, 0 or a negative errno. */
static int is_shared(struct without_snapshots *without, uint64_t bytenr)
{
	struct extent_ref *refs;
	size_t count, own = 0;
	bool is_complete;
	int ret;

	ret = backref_query_extent(without->query, without->fd, bytenr, &refs, &count,
				   &is_complete);
	if (ret < 0)
		return ret;
	if (extent_refs_have_moved(refs, count))
		return -ENOENT;
	for (size_t i = 0; i < count; i++) {
		if (is_of_file(without, &refs[i]))
			own++;
		else if (!is_ignored(without, refs[i].root))
			return 1;
	}
	if (!is_complete)
		return 1;
	return own > 1 ? is_shared_within(without, bytenr, refs, count) : 0;
}

/* The same for ITEM, the last one of whose extents is remembered. */
static int item_is_shared(struct without_snapshots *without, const struct file_extent *item)
{
	int ret;

	if (without->bytenr == item->disk_bytenr)
		return without->is_shared;
	ret = is_shared(without, item->disk_bytenr);
	if (ret < 0)
		return ret;
	without->bytenr = item->disk_bytenr;
	without->is_shared = ret;
	return ret;
}

/* Adds EXTENT, which the kernel reports as shared, to SHARING. */
static int add_shared(struct without_snapshots *without, struct file_extent_iter *items,
		      const struct mapped_extent *extent, struct unique_shared_bytes *set,
		      struct sharing *sharing)
{
	const uint64_t end = extent->offset + extent->length;
	/* The sums are those of an extent that is not shared, and of its shared parts. */
	struct mapped_extent whole = *extent;
	struct file_extent item;
	uint64_t shared_bytes = 0;
	int ret;

	whole.flags &= ~FIEMAP_EXTENT_SHARED;
	sharing_add_extent(sharing, &whole);
	while ((ret = file_extent_iter_next(items, extent->offset, end, &item)) > 0) {
		struct mapped_extent part = *extent;

		if (!item.disk_bytenr ||
		    !mapped_extent_clip(&part, (struct byte_range){ item.offset, item.length }))
			continue;
		ret = item_is_shared(without, &item);
		if (ret > 0 && set)
			ret = unique_shared_bytes_add(set, &part);
		else if (ret == 0)
			continue;
		if (ret < 0)
			return ret;
		shared_bytes += part.length;
	}
	sharing->shared_bytes += shared_bytes;
	sharing->shared_count += shared_bytes > 0;
	return ret;
}

static int add_extents(struct without_snapshots *without, struct fiemap_iter *iter,
		       struct byte_range range, uint32_t fiemap_flags,
		       struct unique_shared_bytes *set, struct sharing *sharing)
{
	CLEANUP(file_extent_iter_freep) struct file_extent_iter *items = NULL;
	struct mapped_extent extent;
	int ret;

	ret = file_extent_iter_new(&items, without->fd, without->inode, range.offset);
	if (ret < 0)
		return ret;
	fiemap_iter_start(iter, without->fd, range, fiemap_flags);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, range))
			continue;
		if (mapped_extent_is_shared(&extent) && mapped_extent_is_on_disk(&extent))
			ret = add_shared(without, items, &extent, set, sharing);
		else
			sharing_add_extent(sharing, &extent);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int sharing_without_snapshots(struct without_snapshots *without, struct fiemap_iter *iter, int fd,
			      uint64_t inode, struct byte_range range, uint32_t fiemap_flags,
			      struct unique_shared_bytes *set, struct sharing *ret_sharing)
{
	CLEANUP(file_look_end) struct file_look look = { .operation.ended_fd = -1 };
	struct sharing sharing = { 0 };
	int ret;

	ret = find_snapshots(without, fd);
	if (ret == 0)
		ret = file_look_begin(&look, NULL, fd);
	if (ret < 0)
		return ret;
	without->fd = fd;
	without->inode = inode;
	without->bytenr = 0;
	backref_query_watch(without->query, look.watch);
	ret = add_extents(without, iter, range, fiemap_flags, set, &sharing);
	backref_query_watch(without->query, NULL);
	/* An extent that was there a moment before is not gone, but moved or overwritten. */
	if (ret == -ENOENT || (ret == 0 && file_look_may_have_moved(&look)))
		return -EAGAIN;
	if (ret == 0)
		*ret_sharing = sharing;
	return ret;
}
