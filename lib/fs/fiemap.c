// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/fs.h>

#include "fs/fiemap.h"
#include "fs/filesystem.h"
#include "sys/cleanup.h"
#include "sys/endless-call.h"
#include "sys/retry-ioctl.h"

/*
 * The kernel starts its cache of checked tree blocks again with every call, so
 * a call should cover many leaves; beyond this size nothing more is gained.
 */
#define EXTENTS_PER_CALL 4096
/* A call for each extent would cost too much. */
#define LENGTH_UNCHECKED (1ULL << 30)

struct fiemap_iter {
	int fd;
	uint32_t fiemap_flags;
	uint64_t position;
	uint64_t end;
	uint64_t calls;
	uint32_t index;
	bool last;
	size_t size;
	/* or NULL */
	struct relocation_watch *watch;
	struct relocation_mark mark;
	struct fiemap *answer;
};

int fiemap_check_answer(const void *buffer, size_t size)
{
	struct fiemap header;
	uint64_t previous_end = 0;

	if (size < sizeof(header))
		return -EPROTO;
	memcpy(&header, buffer, sizeof(header));
	if (header.fm_mapped_extents > (size - sizeof(header)) / sizeof(struct fiemap_extent))
		return -EPROTO;

	for (uint32_t i = 0; i < header.fm_mapped_extents; i++) {
		struct fiemap_extent extent;
		uint64_t end;

		memcpy(&extent, (const char *)buffer + sizeof(header) + i * sizeof(extent),
		       sizeof(extent));
		if (__builtin_add_overflow(extent.fe_logical, extent.fe_length, &end))
			return -EPROTO;
		if (extent.fe_logical < previous_end)
			return -EPROTO;
		previous_end = end;
	}

	return 0;
}

int fiemap_iter_new(struct fiemap_iter **ret_iter)
{
	struct fiemap_iter *iter = calloc(1, sizeof(*iter));

	if (!iter)
		return -ENOMEM;

	iter->size = sizeof(struct fiemap) + EXTENTS_PER_CALL * sizeof(struct fiemap_extent);
	iter->answer = malloc(iter->size);
	if (!iter->answer) {
		free(iter);
		return -ENOMEM;
	}
	fiemap_iter_start(iter, -1, WHOLE_FILE, 0);

	*ret_iter = iter;
	return 0;
}

void fiemap_iter_free(struct fiemap_iter *iter)
{
	if (!iter)
		return;
	free(iter->answer);
	free(iter);
}

void fiemap_iter_start(struct fiemap_iter *iter, int fd, struct byte_range range,
		       uint32_t fiemap_flags)
{
	iter->fd = fd;
	iter->fiemap_flags = fiemap_flags;
	iter->position = range.offset;
	iter->end = byte_range_end(range);
	iter->calls = 0;
	iter->index = 0;
	iter->last = false;
	memset(iter->answer, 0, sizeof(*iter->answer));
}

static void make_request(struct fiemap *map, struct byte_range range, uint32_t flags,
			 uint32_t extent_count)
{
	memset(map, 0, sizeof(*map));
	map->fm_start = range.offset;
	map->fm_length = range.length;
	map->fm_flags = flags;
	map->fm_extent_count = extent_count;
}

/* Returns 0 or a negative errno. It waits for the lock of the inode. */
static int call_fiemap(int fd, struct fiemap *map)
{
	int ret;

	endless_call_begin();
	ret = retry_ioctl(fd, FS_IOC_FIEMAP, map, sizeof(*map));
	endless_call_end();
	/* The range begins after where any file of this file system ends. */
	if (ret == -EFBIG) {
		map->fm_mapped_extents = 0;
		return 0;
	}
	return ret < 0 ? ret : 0;
}

void fiemap_iter_watch(struct fiemap_iter *iter, struct relocation_watch *watch)
{
	if (iter->watch != watch)
		iter->mark.is_valid = false;
	iter->watch = watch;
}

/* Returns 1 if the answer has extents, 0 if it has none, or a negative errno. */
static int check_answer(struct fiemap_iter *iter)
{
	const struct fiemap *answer = iter->answer;
	const struct fiemap_extent *last;
	int ret = fiemap_check_answer(answer, iter->size);

	if (ret < 0 || !answer->fm_mapped_extents)
		return ret;
	last = &answer->fm_extents[answer->fm_mapped_extents - 1];
	iter->last = last->fe_flags & FIEMAP_EXTENT_LAST;
	if (!iter->last &&
	    (!last->fe_length || last->fe_logical + last->fe_length <= iter->position))
		return -EPROTO;
	return 1;
}

/* Returns 1 with a new answer that has extents, 0 at the end, or a negative errno. */
static int refill(struct fiemap_iter *iter)
{
	const struct byte_range rest = { iter->position, iter->end - iter->position };
	struct fiemap *answer = iter->answer;
	int ret;

	if (iter->last || iter->position >= iter->end)
		return 0;
	iter->index = 0;
	do {
		ret = relocation_watch_begin(iter->watch, &iter->mark);
		if (ret < 0)
			break;
		make_request(answer, rest, iter->fiemap_flags, EXTENTS_PER_CALL);
		ret = call_fiemap(iter->fd, answer);
	} while (!relocation_watch_holds(iter->watch, &iter->mark));
	if (ret == 0) {
		iter->calls++;
		ret = check_answer(iter);
	}
	if (ret < 0)
		answer->fm_mapped_extents = 0;
	return ret;
}

/* An extent on disk, or several that follow each other there, takes no more than there is. */
static bool is_possible(const struct fiemap_iter *iter, const struct mapped_extent *extent)
{
	const uint32_t elsewhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
				   FIEMAP_EXTENT_DATA_INLINE;
	uint64_t end;

	if (extent->flags & elsewhere)
		return true;
	if (__builtin_add_overflow(extent->bytenr, extent->length, &end) || end > INT64_MAX)
		return false;
	return extent->length <= LENGTH_UNCHECKED ||
	       extent->length <= filesystem_size_limit(iter->fd);
}

int fiemap_iter_next(struct fiemap_iter *iter, struct mapped_extent *ret_extent)
{
	for (;;) {
		const struct fiemap_extent *fe;
		struct mapped_extent extent;

		if (iter->index == iter->answer->fm_mapped_extents) {
			int ret = refill(iter);

			if (ret <= 0)
				return ret;
		}

		fe = &iter->answer->fm_extents[iter->index++];
		extent = (struct mapped_extent){
			.offset = fe->fe_logical,
			.bytenr = fe->fe_physical,
			.length = fe->fe_length,
			.flags = fe->fe_flags,
		};
		if (iter->calls > 1 &&
		    !mapped_extent_clip(&extent, (struct byte_range){ iter->position, UINT64_MAX }))
			continue;
		if (!extent.length)
			continue;

		if (!is_possible(iter, &extent))
			return -EPROTO;

		iter->position = extent.offset + extent.length;
		*ret_extent = extent;
		return 1;
	}
}

uint64_t fiemap_iter_calls(const struct fiemap_iter *iter)
{
	return iter->calls;
}

int fiemap_sync(int fd)
{
	struct fiemap map = { .fm_length = 1, .fm_flags = FIEMAP_FLAG_SYNC };

	return call_fiemap(fd, &map);
}

int fiemap_count(int fd, struct byte_range range, uint32_t *ret_count)
{
	struct fiemap answer;
	int ret;

	make_request(&answer, range, 0, 0);
	ret = call_fiemap(fd, &answer);
	if (ret < 0)
		return ret;

	*ret_count = answer.fm_mapped_extents;
	return 0;
}

int mapped_extent_clip(struct mapped_extent *extent, struct byte_range range)
{
	uint64_t extent_end = extent->offset + extent->length;
	uint64_t range_end = byte_range_end(range);
	uint64_t start = extent->offset > range.offset ? extent->offset : range.offset;
	uint64_t end = extent_end < range_end ? extent_end : range_end;

	if (start >= end)
		return 0;

	if (extent->bytenr && !(extent->flags & FIEMAP_EXTENT_ENCODED))
		extent->bytenr += start - extent->offset;
	if (end < extent_end)
		extent->flags &= ~FIEMAP_EXTENT_LAST;
	extent->offset = start;
	extent->length = end - start;
	return 1;
}
