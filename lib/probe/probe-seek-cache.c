// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "fs/fiemap.h"
#include "probe/feature-probe.h"
#include "probe/probe-files.h"
#include "seek/seek-iter.h"
#include "sys/cleanup.h"
#include "sys/min-cpu-time.h"

/* A file with this many pieces of data, which is walked more than once to be timed. */
struct probe_walk {
	unsigned int segments;
	unsigned int walks;
};

static const struct probe_walk clean = { 256, 1 };
/* As many calls in each. More data would not stay in the memory of a small file system. */
static const struct probe_walk few_dirty = { 32, 16 }, many_dirty = { 128, 4 };

#define ATTEMPTS 3

static int walk_once(int fd, unsigned int segments)
{
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	seek_iter_start(&iter, fd, WHOLE_FILE, (2 * segments - 1) * PROBE_BLOCK);
	do {
		ret = seek_iter_next(&iter, &segment);
	} while (ret > 0);
	return ret;
}

static int walk_segments(int fd, void *data)
{
	const struct probe_walk *file = data;
	int ret = 0;

	for (unsigned int i = 0; i < file->walks && ret == 0; i++)
		ret = walk_once(fd, file->segments);
	return ret;
}

static int open_unnamed(int directory_fd)
{
	int fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* Without the feature one kernel is slow before, and another one after. */
static struct feature_cost slower_against_faster(uint64_t a, uint64_t b)
{
	return a > b ? (struct feature_cost){ a, b } : (struct feature_cost){ b, a };
}

int probe_seek_cache(int directory_fd, struct interrupts *interrupts, struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = open_unnamed(directory_fd);
	struct probe_walk file = clean;
	uint64_t before_ns, after_ns;
	int ret;

	if (fd < 0)
		return fd;
	ret = probe_write_every_other(fd, 0, file.segments);
	if (ret == 0)
		ret = min_cpu_time_of(walk_segments, fd, &file, &before_ns);
	if (ret == 0)
		ret = probe_read_all(fd);
	if (ret == 0)
		ret = probe_interrupted(interrupts);
	if (ret == 0)
		ret = min_cpu_time_of(walk_segments, fd, &file, &after_ns);
	if (ret == 0)
		*ret_cost = slower_against_faster(before_ns, after_ns);
	return ret;
}

/* Returns the number of extents that are not on disk yet, or a negative errno. */
static int count_dirty(int fd)
{
	CLEANUP(fiemap_iter_freep) struct fiemap_iter *iter = NULL;
	struct mapped_extent extent;
	int ret, count = 0;

	ret = fiemap_iter_new(&iter);
	if (ret < 0)
		return ret;
	fiemap_iter_start(iter, fd, WHOLE_FILE, 0);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0)
		count += !!(extent.flags & FIEMAP_EXTENT_DELALLOC);
	return ret < 0 ? ret : count;
}

/* Returns 0, with no time if the data did not stay dirty until the end, or a negative errno. */
static int time_dirty(int directory_fd, struct probe_walk file, uint64_t *ret_ns)
{
	CLEANUP_CLOSE int fd = open_unnamed(directory_fd);
	int ret;

	if (fd < 0)
		return fd;
	ret = probe_dirty_every_other(fd, 0, file.segments);
	if (ret == 0)
		ret = min_cpu_time_of(walk_segments, fd, &file, ret_ns);
	if (ret == 0)
		ret = count_dirty(fd);
	if (ret < 0)
		return ret;
	if ((unsigned int)ret != file.segments)
		*ret_ns = 0;
	return 0;
}

int probe_seek_cache_improved(int directory_fd, struct interrupts *interrupts,
			      struct feature_cost *ret_cost)
{
	uint64_t many_ns = 0, few_ns = 0;
	int ret = 0;

	for (int i = 0; i < ATTEMPTS && ret == 0 && (!many_ns || !few_ns); i++) {
		ret = time_dirty(directory_fd, few_dirty, &few_ns);
		if (ret == 0)
			ret = time_dirty(directory_fd, many_dirty, &many_ns);
		if (ret == 0)
			ret = probe_interrupted(interrupts);
	}
	if (ret < 0)
		return ret;
	*ret_cost = (struct feature_cost){ 0 };
	if (many_ns && few_ns)
		*ret_cost = (struct feature_cost){ many_ns, few_ns };
	return 0;
}
