// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfsutil.h>

#include "cleanup.h"
#include "clock.h"
#include "commit-counters.h"
#include "feature-measure.h"
#include "fiemap.h"
#include "fsync-folder.h"
#include "median.h"
#include "seek-iter.h"
#include "subvolume.h"
#include "write-at.h"

#define BLOCK 4096
#define ROUNDS 5
/* A tick is 1 ms at least. */
#define COARSEST_STEP_NS 100000

/*
 * Times are those of the processor on behalf of this thread, and mostly the least of several: whatever
 * else happens on the machine only adds to one.
 */
static uint64_t least(const uint64_t *values, size_t count)
{
	uint64_t least = values[0];

	for (size_t i = 1; i < count; i++)
		if (values[i] < least)
			least = values[i];
	return least;
}

/* The least time of several calls, the first one of which finds little cached. */
static int time_calls(int (*call)(int fd, void *data), int fd, void *data, uint64_t *ret_ns)
{
	uint64_t times[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = thread_cpu_ns();
		int ret = call(fd, data);

		if (ret < 0)
			return ret;
		times[i] = thread_cpu_ns() - start;
	}
	*ret_ns = least(times, ROUNDS);
	return 0;
}

static int check_interrupts(struct interrupts *interrupts)
{
	return interrupts_pending(interrupts) ? -EINTR : 0;
}

/* Writes COUNT blocks to disk, every other one from FIRST on. */
static int write_every_other(int fd, unsigned int first, unsigned int count)
{
	static const char block[BLOCK] = { 1 };

	for (uint64_t i = 0; i < count; i++) {
		int ret = write_at(fd, block, BLOCK, (first + 2 * i) * BLOCK);

		if (ret < 0)
			return ret;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* -- fiemap-leaf: extents in leaves that a snapshot shares -- */

#define SHARED_EXTENTS 2000
#define SUBVOLUME_PREFIX "btrfs-fastpath-status."
#define SNAPSHOT "snapshot"
#define SHARED_FILE "extents"

struct snapshotted {
	int parent_fd;
	int fd;
	char name[sizeof(SUBVOLUME_PREFIX) + 8];
};

static int errno_of(enum btrfs_util_error error)
{
	return error ? -errno : 0;
}

static int make_snapshotted(int parent_fd, struct snapshotted *subvolume)
{
	uint32_t number;
	int ret;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(subvolume->name, sizeof(subvolume->name), SUBVOLUME_PREFIX "%08" PRIx32, number);
	ret = errno_of(btrfs_util_create_subvolume_fd(parent_fd, subvolume->name, 0, NULL, NULL));
	if (ret < 0)
		return ret;
	subvolume->parent_fd = parent_fd;
	subvolume->fd = openat(parent_fd, subvolume->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return subvolume->fd < 0 ? -errno : 0;
}

static int remove_entry(int fd, const char *name, int flags)
{
	return unlinkat(fd, name, flags) < 0 && errno != ENOENT ? -errno : 0;
}

/* Empty subvolumes can be removed as directories, by everybody who made them. */
static int remove_snapshotted(struct snapshotted *subvolume)
{
	int ret = 0;

	if (subvolume->fd >= 0) {
		ret = remove_entry(subvolume->fd, SNAPSHOT "/" SHARED_FILE, 0);
		if (ret == 0)
			ret = remove_entry(subvolume->fd, SNAPSHOT, AT_REMOVEDIR);
		if (ret == 0)
			ret = remove_entry(subvolume->fd, SHARED_FILE, 0);
		close(subvolume->fd);
	}
	if (ret == 0 && *subvolume->name)
		ret = remove_entry(subvolume->parent_fd, subvolume->name, AT_REMOVEDIR);
	return ret;
}

static int map_without_check(int fd, void *data)
{
	uint32_t count;

	(void)data;
	return fiemap_count(fd, WHOLE_FILE, &count);
}

static int map_with_check(int fd, void *data)
{
	struct fiemap_iter *iter = data;
	struct mapped_extent extent;
	int ret;

	fiemap_iter_start(iter, fd, WHOLE_FILE, 0);
	do {
		ret = fiemap_iter_next(iter, &extent);
	} while (ret > 0);
	return ret;
}

static int time_shared(int fd, struct feature_cost *ret_cost)
{
	CLEANUP(fiemap_iter_freep) struct fiemap_iter *iter = NULL;
	uint64_t map_ns, all_ns;
	int ret;

	ret = fiemap_iter_new(&iter);
	if (ret == 0)
		ret = time_calls(map_without_check, fd, NULL, &map_ns);
	if (ret == 0)
		ret = time_calls(map_with_check, fd, iter, &all_ns);
	if (ret == 0)
		*ret_cost = (struct feature_cost){ all_ns > map_ns ? all_ns - map_ns : 0, map_ns };
	return ret;
}

static int snapshot_and_time(const struct snapshotted *subvolume, struct interrupts *interrupts,
			     struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd =
		openat(subvolume->fd, SHARED_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret;

	if (fd < 0)
		return -errno;
	/* Neighbours in the file, and not on the disk: no hole is to be looked into. */
	ret = write_every_other(fd, 0, SHARED_EXTENTS / 2);
	if (ret == 0)
		ret = write_every_other(fd, 1, SHARED_EXTENTS / 2);
	if (ret == 0)
		ret = errno_of(btrfs_util_create_snapshot_fd2(subvolume->fd, subvolume->fd,
							      SNAPSHOT, 0, NULL, NULL));
	if (ret == 0)
		ret = check_interrupts(interrupts);
	return ret < 0 ? ret : time_shared(fd, ret_cost);
}

static int measure_fiemap_leaf(int directory_fd, struct interrupts *interrupts,
			       struct feature_cost *ret_cost)
{
	struct snapshotted subvolume = { .fd = -1 };
	int ret, removed;

	ret = make_snapshotted(directory_fd, &subvolume);
	if (ret == 0)
		ret = snapshot_and_time(&subvolume, interrupts, ret_cost);
	removed = remove_snapshotted(&subvolume);
	return ret < 0 ? ret : removed;
}

/* -- seek-cache: what reading holes leaves behind -- */

#define SEEK_SEGMENTS 256

static int walk_segments(int fd, void *data)
{
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	(void)data;
	seek_iter_start(&iter, fd, WHOLE_FILE, (2 * SEEK_SEGMENTS - 1) * BLOCK);
	do {
		ret = seek_iter_next(&iter, &segment);
	} while (ret > 0);
	return ret;
}

static int read_all(int fd)
{
	char block[BLOCK];
	off_t offset = 0;
	ssize_t size;

	while ((size = pread(fd, block, sizeof(block), offset)) > 0)
		offset += size;
	return size < 0 ? -errno : 0;
}

static int measure_seek_cache(int directory_fd, struct interrupts *interrupts,
			      struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct feature_cost cost;
	int ret;

	if (fd < 0)
		return -errno;
	ret = write_every_other(fd, 0, SEEK_SEGMENTS);
	if (ret == 0)
		ret = time_calls(walk_segments, fd, NULL, &cost.reference_ns);
	if (ret == 0)
		ret = read_all(fd);
	if (ret == 0)
		ret = check_interrupts(interrupts);
	if (ret == 0)
		ret = time_calls(walk_segments, fd, NULL, &cost.cost_ns);
	if (ret == 0)
		*ret_cost = cost;
	return ret;
}

/* -- log-dir: fsyncs of a directory that grows -- */

#define FSYNCS 100
#define FILES_A_FSYNC 100
#define TENTH (FSYNCS / 10)
#define ATTEMPTS 3

static int time_fsyncs(struct fsync_folder *folder, struct interrupts *interrupts,
		       uint64_t times[FSYNCS])
{
	int ret = 0;

	for (int i = 0; i < FSYNCS && ret == 0; i++) {
		uint64_t start, elapsed;

		for (int file = 0; file < FILES_A_FSYNC && ret == 0; file++)
			ret = fsync_folder_add(folder);
		start = thread_cpu_ns();
		if (ret == 0)
			ret = fsync_folder_sync(folder, &elapsed);
		times[i] = thread_cpu_ns() - start;
		if (ret == 0)
			ret = check_interrupts(interrupts);
	}
	return ret;
}

/* Returns 0 with no cost where a commit came between: what was logged before it is not looked at again. */
static int measure_growth(struct fsync_folder *folder, struct interrupts *interrupts,
			  struct feature_cost *ret_cost)
{
	struct commit_counters before = { 0 }, after = { 0 };
	uint64_t times[FSYNCS];
	int ret;

	/* The next one by itself is half a minute away then. */
	ret = filesystem_commit(folder->fd);
	if (ret == 0)
		ret = fsync_folder_touch(folder);
	if (ret == 0)
		ret = commit_counters_read_generation(folder->fd, &before);
	if (ret == 0)
		ret = time_fsyncs(folder, interrupts, times);
	if (ret == 0)
		ret = commit_counters_read_generation(folder->fd, &after);
	if (ret < 0)
		return ret;
	*ret_cost = (struct feature_cost){ 0 };
	if (before.generation_known && before.generation == after.generation)
		*ret_cost = (struct feature_cost){ median(times + FSYNCS - TENTH, TENTH),
						   median(times, TENTH) };
	return 0;
}

static int remove_folder(struct fsync_folder *folder)
{
	int ret;

	while ((ret = fsync_folder_remove_next(folder)) > 0)
		;
	fsync_folder_close(folder);
	return ret;
}

static int measure_log_dir(int directory_fd, struct interrupts *interrupts,
			   struct feature_cost *ret_cost)
{
	struct feature_cost cost = { 0 };
	int ret = 0;

	for (int i = 0; i < ATTEMPTS && ret == 0 && !cost.reference_ns; i++) {
		struct fsync_folder folder;
		int removed;

		ret = fsync_folder_new(directory_fd, &folder);
		if (ret < 0)
			return ret;
		ret = measure_growth(&folder, interrupts, &cost);
		removed = remove_folder(&folder);
		ret = ret < 0 ? ret : removed;
	}
	if (ret == 0)
		*ret_cost = cost;
	return ret;
}

/* -- what they tell -- */

/* The bounds are for what was measured on Linux 6.1 and 6.18; btrfs-fastpath-status(8) has the figures. */
const struct feature_probe feature_probes[FEATURE_COUNT] = {
	[FEATURE_FIEMAP_LEAF] = {
		.measure = measure_fiemap_leaf,
		.what = "whether extents are shared, against mapping them",
		.present_below = 400,
		.absent_above = 800,
	},
	[FEATURE_SEEK_CACHE] = {
		.measure = measure_seek_cache,
		.what = "seeks after holes were read, against before",
		.present_below = 200,
		.absent_above = 400,
	},
	[FEATURE_LOG_DIR] = {
		.measure = measure_log_dir,
		.what = "the last fsyncs of a growing directory, against the first",
		.present_below = 300,
		.absent_above = 500,
	},
	[FEATURE_SEND_READA] = {
		.what = "what was just written stays in memory, so that nothing is read ahead",
	},
	[FEATURE_NOCOW_CSUM] = {
		.what = "no call makes a NOCOW file that has checksums",
	},
};

bool feature_clock_is_fine(void)
{
	uint64_t steps[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = thread_cpu_ns(), now;

		do {
			now = thread_cpu_ns();
		} while (now == start);
		steps[i] = now - start;
	}
	return least(steps, ROUNDS) <= COARSEST_STEP_NS;
}

uint64_t feature_cost_percent(const struct feature_cost *cost)
{
	return cost->reference_ns ? (unsigned __int128)cost->cost_ns * 100 / cost->reference_ns : 0;
}

enum feature_state feature_cost_judge(const struct feature_probe *probe,
				      const struct feature_cost *cost)
{
	uint64_t percent = feature_cost_percent(cost);

	if (!cost->reference_ns)
		return FEATURE_UNKNOWN;
	if (percent < probe->present_below)
		return FEATURE_PRESENT;
	return percent > probe->absent_above ? FEATURE_ABSENT : FEATURE_UNKNOWN;
}
