// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/extent-item.h"
#include "fs/inode-flags.h"
#include "fs/subvolume.h"
#include "nocow/checksums.h"
#include "nocow/nocow.h"
#include "num/saturating.h"

static const struct {
	const char *name;
	enum nocow_fate fate;
} reasons[NOCOW_REASON_COUNT] = {
	[NOCOW_REASON_PREALLOC] = { "prealloc", NOCOW_IN_PLACE },
	[NOCOW_REASON_NODATACOW] = { "nodatacow", NOCOW_IN_PLACE },
	[NOCOW_REASON_NO_FLAG] = { "no_flag", NOCOW_COPIED },
	[NOCOW_REASON_GENERATION] = { "generation", NOCOW_COPIED },
	[NOCOW_REASON_COMPRESSED] = { "compressed", NOCOW_COPIED },
	[NOCOW_REASON_READ_ONLY] = { "read_only", NOCOW_COPIED },
	[NOCOW_REASON_SHARED] = { "shared", NOCOW_COPIED },
	[NOCOW_REASON_CHECKSUMS] = { "checksums", NOCOW_COPIED },
	[NOCOW_REASON_HOLE] = { "hole", NOCOW_NEW },
	[NOCOW_REASON_INLINE] = { "inline", NOCOW_NEW },
	[NOCOW_REASON_DIRECT_ONLY] = { "direct_only", NOCOW_UNKNOWN },
	[NOCOW_REASON_DELALLOC] = { "delalloc", NOCOW_UNKNOWN },
	[NOCOW_REASON_UNKNOWN] = { "unknown", NOCOW_UNKNOWN },
};

/* A part of the file that lies in one file extent item. */
struct piece {
	uint64_t offset;
	uint64_t end;
	uint64_t bytenr;
	enum nocow_reason reason;
	/* NOCOW_REASON_BIT() of other reasons than checksums */
	uint32_t more_reasons;
	bool ask_checksums;
};

struct nocow_iter {
	struct nocow_file file;
	struct byte_range range;
	/* what lies before was given */
	uint64_t position;
	struct fiemap_iter *mapped;
	struct mapped_extent extent;
	bool mapped_ended;
	uint64_t extent_count;
	uint64_t doubtful_count;
	bool has_searched;
	int tree_error;
	struct file_extent_iter *items;
	/* the first item that ends behind the position, where ITEMS is set and has one */
	struct file_extent item;
	bool items_ended;
	struct piece piece;
	struct extent_lookup *extents;
	struct checksum_search *checksums;
	/* the subvolume that was compared with the file's last, 0: none; and the answer */
	uint64_t compared_root;
	bool root_is_related;
};

const char *nocow_reason_name(enum nocow_reason reason)
{
	return reasons[reason].name;
}

enum nocow_fate nocow_reason_fate(enum nocow_reason reason)
{
	return reasons[reason].fate;
}

static bool is_nodatacow(const struct nocow_file *file)
{
	return file->inode_flags & INODE_NODATACOW;
}

static bool is_unwritable(const struct nocow_file *file, const struct file_extent *item)
{
	return unwritable_chunks_contain(file->unwritable, item->disk_bytenr);
}

enum nocow_reason nocow_reason_of_item(const struct nocow_file *file,
				       const struct file_extent *item, bool shared)
{
	if (item->is_inline)
		return NOCOW_REASON_INLINE;
	if (!item->disk_bytenr)
		return NOCOW_REASON_HOLE;
	if (!is_nodatacow(file) && !item->is_prealloc)
		return NOCOW_REASON_NO_FLAG;
	if (item->generation <= file->last_snapshot)
		return NOCOW_REASON_GENERATION;
	if (item->is_compressed || item->is_encoded)
		return NOCOW_REASON_COMPRESSED;
	if (is_unwritable(file, item))
		return NOCOW_REASON_READ_ONLY;
	if (shared)
		return NOCOW_REASON_SHARED;
	if (!item->is_prealloc)
		return NOCOW_REASON_NODATACOW;
	if (!(file->inode_flags & (INODE_NODATACOW | INODE_PREALLOC)))
		return NOCOW_REASON_DIRECT_ONLY;
	return NOCOW_REASON_PREALLOC;
}

/* Whether REASON is one that sharing or checksums would still change. */
static bool is_undecided(enum nocow_reason reason)
{
	return nocow_reason_fate(reason) == NOCOW_IN_PLACE || reason == NOCOW_REASON_DIRECT_ONLY;
}

enum nocow_reason nocow_reason_of_mapped(const struct nocow_file *file,
					 const struct mapped_extent *extent)
{
	if (extent->flags & FIEMAP_EXTENT_DATA_INLINE)
		return NOCOW_REASON_INLINE;
	if (extent->flags & (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN))
		return NOCOW_REASON_DELALLOC;
	if (!is_nodatacow(file) && !(extent->flags & FIEMAP_EXTENT_UNWRITTEN))
		return NOCOW_REASON_NO_FLAG;
	if (extent->flags & FIEMAP_EXTENT_ENCODED)
		return NOCOW_REASON_COMPRESSED;
	if (extent->flags & FIEMAP_EXTENT_SHARED && !file->is_moving)
		return NOCOW_REASON_SHARED;
	return NOCOW_REASON_UNKNOWN;
}

int nocow_iter_new(struct nocow_iter **ret_iter)
{
	struct nocow_iter *iter = calloc(1, sizeof(*iter));
	int ret;

	if (!iter)
		return -ENOMEM;
	ret = fiemap_iter_new(&iter->mapped);
	if (ret == 0)
		ret = extent_lookup_new(&iter->extents);
	if (ret == 0)
		ret = checksum_search_new(&iter->checksums);
	if (ret < 0) {
		nocow_iter_free(iter);
		return ret;
	}

	*ret_iter = iter;
	return 0;
}

void nocow_iter_free(struct nocow_iter *iter)
{
	if (!iter)
		return;
	fiemap_iter_free(iter->mapped);
	file_extent_iter_free(iter->items);
	extent_lookup_free(iter->extents);
	checksum_search_free(iter->checksums);
	free(iter);
}

int nocow_iter_start(struct nocow_iter *iter, const struct nocow_file *file,
		     struct byte_range range, uint32_t fiemap_flags)
{
	int ret;

	if (file->searchable) {
		ret = checksum_search_start(iter->checksums, file->fd);
		if (ret < 0)
			return ret;
	}
	extent_lookup_start(iter->extents, file->fd);
	fiemap_iter_start(iter->mapped, file->fd, range, fiemap_flags);
	file_extent_iter_free(iter->items);
	iter->items = NULL;
	iter->file = *file;
	iter->range = range;
	iter->position = range.offset;
	iter->extent = (struct mapped_extent){ 0 };
	iter->mapped_ended = false;
	iter->extent_count = 0;
	iter->doubtful_count = 0;
	iter->has_searched = false;
	iter->tree_error = 0;
	iter->compared_root = 0;
	iter->item = (struct file_extent){ 0 };
	iter->items_ended = false;
	iter->piece = (struct piece){ 0 };
	return 0;
}

/* Makes EXTENT the first that ends behind the position, if there is one. */
static int advance_extent(struct nocow_iter *iter)
{
	struct mapped_extent *extent = &iter->extent;

	while (!iter->mapped_ended && extent->offset + extent->length <= iter->position) {
		int ret = fiemap_iter_next(iter->mapped, extent);

		if (ret < 0)
			return ret;
		if (ret == 0 || extent->offset >= byte_range_end(iter->range))
			iter->mapped_ended = true;
		else if (mapped_extent_clip(extent, iter->range))
			iter->extent_count++;
	}
	return 0;
}

/* Makes ITEM the first that ends behind the position, if there is one. */
static int advance_item(struct nocow_iter *iter)
{
	struct file_extent *item = &iter->item;
	int ret;

	if (!iter->items) {
		ret = file_extent_iter_new(&iter->items, iter->file.fd, iter->file.inode,
					   iter->position);
		if (ret < 0)
			return ret;
	}
	while (!iter->items_ended && item->offset + item->length <= iter->position) {
		ret = file_extent_iter_next(iter->items, iter->position, UINT64_MAX, item);
		if (ret < 0)
			return ret;
		iter->items_ended = ret == 0;
	}
	return 0;
}

/* The reference of ITEM in the extent tree. */
static struct extent_ref own_ref(const struct nocow_iter *iter, const struct file_extent *item)
{
	return (struct extent_ref){
		.inode = iter->file.inode,
		.offset = item->offset - item->extent_offset,
		.root = iter->file.subvolid,
	};
}

/*
 * Looks up the extent of ITEM. Returns 1 with *RET_EXTENT if it may have other references, 0 if it has
 * none or is not in the tree yet, when FIEMAP decides, or a negative errno.
 */
static int find_shared(struct nocow_iter *iter, const struct file_extent *item,
		       struct extent_item *ret_extent)
{
	const struct extent_ref own = own_ref(iter, item);
	int ret = extent_lookup_find(iter->extents, item->disk_bytenr, ret_extent);

	return ret <= 0 ? ret : !extent_item_belongs_to(ret_extent, &own);
}

/* Whether anybody else refers to the extent of ITEM. Returns 1, 0, or a negative errno. */
static int is_shared(struct nocow_iter *iter, const struct file_extent *item)
{
	struct extent_item extent;

	return find_shared(iter, item, &extent);
}

/*
 * Whether a relocation's copy is among the owners of ITEM's extent, or was when FIEMAP looked. Returns
 * 1, 0, or a negative errno.
 */
static int has_copy(struct nocow_iter *iter, const struct file_extent *item)
{
	const struct extent_ref own = own_ref(iter, item);
	struct extent_item extent;
	struct extent_ref ref;
	size_t position = 0;
	int ret;

	ret = extent_lookup_find(iter->extents, item->disk_bytenr, &extent);
	if (ret <= 0 || extent_item_belongs_to(&extent, &own))
		return ret;
	while (extent_item_next_ref(&extent, &position, &ref) > 0)
		if (ref.root == BTRFS_DATA_RELOC_TREE_OBJECTID)
			return 1;
	return 0;
}

/* Whether subvolume ROOT and the file's come from one another. Returns 1, 0, or a negative errno. */
static int is_related(struct nocow_iter *iter, uint64_t root)
{
	int ret;

	if (root == iter->file.subvolid)
		return 1;
	if (root == iter->compared_root)
		return iter->root_is_related;
	ret = subvolumes_are_related(iter->file.fd, iter->file.subvolid, root);
	/* One that was deleted can have been a snapshot. */
	if (ret == -ENOENT)
		ret = 1;
	if (ret < 0)
		return ret;
	iter->compared_root = root;
	iter->root_is_related = ret;
	return ret;
}

/*
 * Whether the extent of ITEM, which is in a snapshot, has an owner that is not this file in a
 * snapshot. Returns 1, 0 also if its item does not say, or a negative errno.
 */
static int is_shared_beside_snapshots(struct nocow_iter *iter, const struct file_extent *item)
{
	const struct extent_ref own = own_ref(iter, item);
	struct extent_item extent;
	struct extent_ref ref;
	size_t position = 0;
	int ret = find_shared(iter, item, &extent);

	if (ret <= 0)
		return ret;
	while (extent_item_next_ref(&extent, &position, &ref) > 0) {
		if (ref.inode != own.inode || ref.offset != own.offset)
			return 1;
		ret = is_related(iter, ref.root);
		if (ret <= 0)
			return ret < 0 ? ret : 1;
	}
	return 0;
}

/* What else would be left if the reason of PIECE went away. Returns 0 or a negative errno. */
static int find_more_reasons(struct nocow_iter *iter, struct piece *piece)
{
	const struct file_extent *item = &iter->item;
	int ret;

	if (piece->reason != NOCOW_REASON_NO_FLAG && is_unwritable(&iter->file, item))
		piece->more_reasons |= NOCOW_REASON_BIT(NOCOW_REASON_READ_ONLY);
	if (piece->reason == NOCOW_REASON_GENERATION) {
		if (item->is_encoded || item->is_compressed)
			piece->more_reasons |= NOCOW_REASON_BIT(NOCOW_REASON_COMPRESSED);
		ret = is_shared_beside_snapshots(iter, item);
	} else if (piece->reason == NOCOW_REASON_COMPRESSED) {
		ret = iter->extent.flags & FIEMAP_EXTENT_SHARED ? 1 : is_shared(iter, item);
	} else {
		return 0;
	}
	if (ret > 0)
		piece->more_reasons |= NOCOW_REASON_BIT(NOCOW_REASON_SHARED);
	return ret < 0 ? ret : 0;
}

static int count_doubt(struct nocow_iter *iter, const struct piece *piece)
{
	const uint32_t shared = NOCOW_REASON_BIT(NOCOW_REASON_SHARED);
	int ret;

	if (!iter->file.may_have_copies ||
	    !((NOCOW_REASON_BIT(piece->reason) | piece->more_reasons) & shared))
		return 0;
	ret = has_copy(iter, &iter->item);
	if (ret > 0)
		iter->doubtful_count++;
	return ret < 0 ? ret : 0;
}

/* Whether ERR says that a tree is missing, as with the mount option rescue=, or damaged. */
static bool is_tree_error(struct nocow_iter *iter, int err)
{
	if (err != -ENOENT && err != -EIO && err != -EUCLEAN)
		return false;
	iter->tree_error = err;
	return true;
}

/* The part of EXTENT from the position on that ITEM covers. */
static int set_piece(struct nocow_iter *iter)
{
	const struct mapped_extent *extent = &iter->extent;
	const struct file_extent *item = &iter->item;
	uint64_t extent_end = extent->offset + extent->length;
	uint64_t item_end = item->offset + item->length;
	struct piece piece = {
		.offset = iter->position,
		.end = item_end < extent_end ? item_end : extent_end,
		.bytenr = item->disk_bytenr,
	};
	int ret;

	piece.reason = nocow_reason_of_item(&iter->file, item,
					    extent->flags & FIEMAP_EXTENT_SHARED);
	if (is_undecided(piece.reason)) {
		ret = is_shared(iter, item);
		if (ret < 0 && !is_tree_error(iter, ret))
			return ret;
		if (ret)
			piece.reason = ret < 0 ? NOCOW_REASON_UNKNOWN : NOCOW_REASON_SHARED;
	}
	ret = find_more_reasons(iter, &piece);
	if (ret == 0)
		ret = count_doubt(iter, &piece);
	if (ret < 0 && !is_tree_error(iter, ret))
		return ret;
	/* The bytes of a compressed extent have no address of their own. */
	piece.ask_checksums = item->disk_bytenr && !item->is_compressed && !item->is_encoded &&
			      piece.reason != NOCOW_REASON_NO_FLAG;
	if (item->disk_bytenr && !item->is_compressed)
		piece.bytenr += item->extent_offset + (iter->position - item->offset);

	iter->piece = piece;
	return 0;
}

/* What FIEMAP found and no item explains, because the file has changed in between. */
static void set_unknown_piece(struct nocow_iter *iter)
{
	uint64_t end = iter->extent.offset + iter->extent.length;

	if (!iter->items_ended && iter->item.offset < end)
		end = iter->item.offset;
	iter->piece = (struct piece){
		.offset = iter->position,
		.end = end,
		.reason = NOCOW_REASON_UNKNOWN,
	};
}

static int search_piece(struct nocow_iter *iter)
{
	int ret = advance_item(iter);

	if (ret < 0)
		return ret;
	iter->has_searched = true;
	if (!iter->items_ended && iter->item.offset <= iter->position)
		return set_piece(iter);
	set_unknown_piece(iter);
	return 0;
}

/* Whether what FIEMAP and the flags say leaves a question that the trees can answer. */
static bool is_open_question(const struct nocow_file *file, const struct mapped_extent *extent)
{
	switch (nocow_reason_of_mapped(file, extent)) {
	case NOCOW_REASON_UNKNOWN:
	case NOCOW_REASON_COMPRESSED:
	case NOCOW_REASON_SHARED:
		return file->searchable;
	default:
		return false;
	}
}

/* The piece at the position, which EXTENT covers. */
static int next_piece(struct nocow_iter *iter)
{
	const struct mapped_extent *extent = &iter->extent;

	if (is_open_question(&iter->file, extent))
		return search_piece(iter);
	iter->piece = (struct piece){
		.offset = iter->position,
		.end = extent->offset + extent->length,
		.bytenr = extent->bytenr,
		.reason = nocow_reason_of_mapped(&iter->file, extent),
	};
	if (!(extent->flags & FIEMAP_EXTENT_SHARED) || iter->file.is_moving)
		return 0;
	if (iter->piece.reason == NOCOW_REASON_COMPRESSED)
		iter->piece.more_reasons = NOCOW_REASON_BIT(NOCOW_REASON_SHARED);
	if (iter->piece.more_reasons || iter->piece.reason == NOCOW_REASON_SHARED)
		iter->doubtful_count++;
	return 0;
}

/* Ends RANGE, which has the rest of the piece, where checksums begin or end. */
static int ask_checksums(struct nocow_iter *iter, struct nocow_range *range)
{
	struct byte_range part;
	int ret;

	ret = checksum_search_find(iter->checksums,
				   (struct byte_range){ range->bytenr, range->length }, &part);
	if (ret < 0 && is_tree_error(iter, ret)) {
		if (is_undecided(range->reason))
			range->reason = NOCOW_REASON_UNKNOWN;
		return 0;
	}
	if (ret < 0)
		return ret;
	range->checksums = NOCOW_CHECKSUMS_NONE;
	if (ret == 0)
		return 0;
	if (part.offset > range->bytenr) {
		range->length = part.offset - range->bytenr;
		return 0;
	}
	range->length = part.length;
	range->checksums = NOCOW_CHECKSUMS_EXIST;
	range->reasons |= NOCOW_REASON_BIT(NOCOW_REASON_CHECKSUMS);
	if (is_undecided(range->reason) || range->reason == NOCOW_REASON_UNKNOWN)
		range->reason = NOCOW_REASON_CHECKSUMS;
	return 0;
}

static int range_of_piece(struct nocow_iter *iter, struct nocow_range *ret_range)
{
	const struct piece *piece = &iter->piece;
	struct nocow_range range = {
		.offset = iter->position,
		.length = piece->end - iter->position,
		.reason = piece->reason,
		.reasons = piece->more_reasons,
	};
	int ret;

	if (piece->bytenr)
		range.bytenr = piece->bytenr + (iter->position - piece->offset);
	if (piece->ask_checksums) {
		ret = ask_checksums(iter, &range);
		if (ret < 0)
			return ret;
	}

	*ret_range = range;
	return 1;
}

/* What no extent covers from the position on. Returns 0 where that is behind the end. */
static int range_of_hole(const struct nocow_iter *iter, struct nocow_range *ret_range)
{
	uint64_t end = byte_range_end(iter->range);

	if (!iter->mapped_ended)
		end = iter->extent.offset;
	else if (end > iter->file.size)
		end = iter->file.size;
	if (end <= iter->position)
		return 0;
	*ret_range = (struct nocow_range){
		.offset = iter->position,
		.length = end - iter->position,
		.reason = NOCOW_REASON_HOLE,
	};
	return 1;
}

static int find_range(struct nocow_iter *iter, struct nocow_range *ret_range)
{
	int ret;

	if (iter->piece.end > iter->position)
		return range_of_piece(iter, ret_range);
	ret = advance_extent(iter);
	if (ret < 0)
		return ret;
	if (iter->mapped_ended || iter->extent.offset > iter->position)
		return range_of_hole(iter, ret_range);
	ret = next_piece(iter);
	return ret < 0 ? ret : range_of_piece(iter, ret_range);
}

int nocow_iter_next(struct nocow_iter *iter, struct nocow_range *ret_range)
{
	int ret = find_range(iter, ret_range);

	if (ret <= 0)
		return ret;
	ret_range->reasons |= NOCOW_REASON_BIT(ret_range->reason);
	iter->position = ret_range->offset + ret_range->length;
	return 1;
}

uint64_t nocow_iter_extent_count(const struct nocow_iter *iter)
{
	return iter->extent_count;
}

uint64_t nocow_iter_doubtful_count(const struct nocow_iter *iter)
{
	return iter->doubtful_count;
}

bool nocow_iter_has_searched(const struct nocow_iter *iter)
{
	return iter->has_searched;
}

int nocow_iter_tree_error(const struct nocow_iter *iter)
{
	return iter->tree_error;
}

void nocow_sums_add_range(struct nocow_sums *sums, const struct nocow_range *range)
{
	uint64_t *bytes = &sums->bytes[range->reason];

	sums->counts[range->reason]++;
	sums->reasons |= range->reasons;
	*bytes = saturating_add(*bytes, range->length);
	if (range->checksums != NOCOW_CHECKSUMS_NOT_ASKED)
		sums->csum_asked_bytes = saturating_add(sums->csum_asked_bytes, range->length);
	if (range->checksums == NOCOW_CHECKSUMS_EXIST)
		sums->csum_bytes = saturating_add(sums->csum_bytes, range->length);
}

void nocow_sums_add(struct nocow_sums *sums, const struct nocow_sums *other)
{
	for (int i = 0; i < NOCOW_REASON_COUNT; i++) {
		sums->counts[i] += other->counts[i];
		sums->bytes[i] = saturating_add(sums->bytes[i], other->bytes[i]);
	}
	sums->reasons |= other->reasons;
	sums->extent_count += other->extent_count;
	sums->csum_bytes = saturating_add(sums->csum_bytes, other->csum_bytes);
	sums->csum_asked_bytes = saturating_add(sums->csum_asked_bytes, other->csum_asked_bytes);
}

uint64_t nocow_sums_bytes_of(const struct nocow_sums *sums, enum nocow_fate fate)
{
	uint64_t bytes = 0;

	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (reasons[i].fate == fate)
			bytes = saturating_add(bytes, sums->bytes[i]);
	return bytes;
}
