// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "seek/extent-kind.h"

const char *const extent_kind_names[EXTENT_KIND_COUNT] = {
	[EXTENT_KIND_HOLE] = "hole",	     [EXTENT_KIND_REGULAR] = "regular",
	[EXTENT_KIND_INLINE] = "inline",     [EXTENT_KIND_PREALLOC] = "prealloc",
	[EXTENT_KIND_DELALLOC] = "delalloc",
};

enum extent_kind extent_kind_of(const struct mapped_extent *extent)
{
	if (extent->flags & FIEMAP_EXTENT_DELALLOC)
		return EXTENT_KIND_DELALLOC;
	if (extent->flags & FIEMAP_EXTENT_DATA_INLINE)
		return EXTENT_KIND_INLINE;
	if (extent->flags & FIEMAP_EXTENT_UNWRITTEN)
		return EXTENT_KIND_PREALLOC;
	return EXTENT_KIND_REGULAR;
}

bool extent_kind_is_data(enum extent_kind kind)
{
	return kind != EXTENT_KIND_HOLE && kind != EXTENT_KIND_PREALLOC;
}

static int next_extent(struct kind_walk *walk)
{
	int ret = fiemap_iter_next(walk->iter, &walk->extent);

	if (ret == 0)
		walk->extent.length = 0;
	return ret < 0 ? ret : 0;
}

int kind_walk_start(struct kind_walk *walk, struct fiemap_iter *iter, int fd,
		    struct byte_range range)
{
	walk->iter = iter;
	fiemap_iter_start(iter, fd, range, 0);
	return next_extent(walk);
}

static uint64_t extent_end(const struct mapped_extent *extent)
{
	return extent->offset + extent->length;
}

/* Reads on until an extent is of another kind, leaves a gap, or reaches END. */
static int join_extents(struct kind_walk *walk, enum extent_kind kind, uint64_t end,
			uint64_t *ret_end)
{
	uint64_t joined = extent_end(&walk->extent);

	while (joined < end) {
		int ret = next_extent(walk);

		if (ret < 0)
			return ret;
		if (!walk->extent.length || walk->extent.offset != joined ||
		    extent_kind_of(&walk->extent) != kind)
			break;
		joined = extent_end(&walk->extent);
	}
	*ret_end = joined < end ? joined : end;
	return 0;
}

int kind_walk_at(struct kind_walk *walk, uint64_t offset, uint64_t end, enum extent_kind *ret_kind,
		 uint64_t *ret_end)
{
	const struct mapped_extent *extent = &walk->extent;
	enum extent_kind kind;
	int ret;

	while (extent->length && extent_end(extent) <= offset) {
		ret = next_extent(walk);
		if (ret < 0)
			return ret;
	}

	if (!extent->length || extent->offset > offset) {
		*ret_kind = EXTENT_KIND_HOLE;
		*ret_end = extent->length && extent->offset < end ? extent->offset : end;
		return 0;
	}
	kind = extent_kind_of(extent);
	ret = join_extents(walk, kind, end, ret_end);
	if (ret < 0)
		return ret;
	*ret_kind = kind;
	return 0;
}
