// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/saturating.h"
#include "sharing/sharing.h"

bool mapped_extent_is_shared(const struct mapped_extent *extent)
{
	return extent->flags & FIEMAP_EXTENT_SHARED;
}

bool mapped_extent_is_on_disk(const struct mapped_extent *extent)
{
	return !(extent->flags &
		 (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE));
}

void sharing_add_extent(struct sharing *sharing, const struct mapped_extent *extent)
{
	uint64_t *bytes = &sharing->total_bytes;

	if (extent->flags & FIEMAP_EXTENT_DATA_INLINE)
		bytes = &sharing->inline_bytes;
	else if (!mapped_extent_is_on_disk(extent))
		bytes = &sharing->delalloc_bytes;

	sharing->extent_count++;
	*bytes = saturating_add(*bytes, extent->length);
	if (!mapped_extent_is_shared(extent))
		return;

	sharing->shared_count++;
	if (mapped_extent_is_on_disk(extent))
		sharing->shared_bytes = saturating_add(sharing->shared_bytes, extent->length);
}

void sharing_add(struct sharing *sharing, const struct sharing *other)
{
	sharing->extent_count += other->extent_count;
	sharing->shared_count += other->shared_count;
	sharing->total_bytes = saturating_add(sharing->total_bytes, other->total_bytes);
	sharing->shared_bytes = saturating_add(sharing->shared_bytes, other->shared_bytes);
	sharing->inline_bytes = saturating_add(sharing->inline_bytes, other->inline_bytes);
	sharing->delalloc_bytes = saturating_add(sharing->delalloc_bytes, other->delalloc_bytes);
	sharing->has_fragments |= other->has_fragments;
	sharing->piece_count += other->piece_count;
	sharing->waste_bytes = saturating_add(sharing->waste_bytes, other->waste_bytes);
	sharing->copy_bytes = saturating_add(sharing->copy_bytes, other->copy_bytes);
}

uint64_t sharing_exclusive_bytes(const struct sharing *sharing)
{
	return sharing->total_bytes - sharing->shared_bytes;
}

int sharing_of_file(struct fiemap_iter *iter, int fd, struct byte_range range,
		    uint32_t fiemap_flags, struct unique_shared_bytes *set,
		    struct sharing *ret_sharing)
{
	struct sharing sharing = { 0 };
	struct mapped_extent extent;
	int ret;

	fiemap_iter_start(iter, fd, range, fiemap_flags);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0) {
		if (!mapped_extent_clip(&extent, range))
			continue;
		sharing_add_extent(&sharing, &extent);
		if (!set || !mapped_extent_is_shared(&extent) || !mapped_extent_is_on_disk(&extent))
			continue;
		ret = unique_shared_bytes_add(set, &extent);
		if (ret < 0)
			break;
	}
	if (ret < 0)
		return ret;

	*ret_sharing = sharing;
	return 0;
}

enum share_decision share_decision_of(const struct file_extent *extent, uint64_t last_snapshot)
{
	if (extent->generation > last_snapshot)
		return SHARE_DECISION_GENERATION;
	if (extent->leaf_generation <= last_snapshot)
		return SHARE_DECISION_LEAF;
	return SHARE_DECISION_WALK;
}
