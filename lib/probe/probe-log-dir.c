// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "fs/commit-counters.h"
#include "fs/filesystem.h"
#include "fsync/fsync-folder.h"
#include "num/quartiles.h"
#include "probe/feature-probe.h"
#include "probe/probe-files.h"
#include "sys/clock.h"

#define FSYNCS 100
#define FILES_A_FSYNC 100
#define TENTH (FSYNCS / 10)
/* Where each fsync looks at all that came before, going on takes long. */
#define BEYOND_DOUBT 6
#define ATTEMPTS 3

static int time_fsync(struct fsync_folder *folder, uint64_t *ret_ns)
{
	uint64_t start, elapsed;
	int ret = 0;

	for (int file = 0; file < FILES_A_FSYNC && ret == 0; file++)
		ret = fsync_folder_add(folder);
	start = thread_cpu_ns();
	if (ret == 0)
		ret = fsync_folder_sync(folder, &elapsed);
	*ret_ns = thread_cpu_ns() - start;
	return ret;
}

/* Returns how many there are, fewer where the growth is beyond doubt, or a negative errno. */
static int time_fsyncs(struct fsync_folder *folder, struct interrupts *interrupts,
		       uint64_t times[FSYNCS])
{
	uint64_t limit = UINT64_MAX;
	int beyond = 0;

	for (int i = 0; i < FSYNCS; i++) {
		int ret;

		ret = time_fsync(folder, &times[i]);
		if (ret == 0)
			ret = probe_interrupted(interrupts);
		if (ret < 0)
			return ret;
		if (i == TENTH - 1)
			limit = BEYOND_DOUBT * median(times, TENTH);
		beyond = times[i] > limit ? beyond + 1 : 0;
		if (beyond == TENTH)
			return i + 1;
	}
	return FSYNCS;
}

/*
 * Returns 0 with no cost where a commit came between: what was logged before it is not looked at
 * again.
 */
static int measure_growth(struct fsync_folder *folder, struct interrupts *interrupts,
			  struct feature_cost *ret_cost)
{
	struct commit_counters before = { 0 }, after = { 0 };
	uint64_t times[FSYNCS];
	int count, ret;

	/* The next one by itself is half a minute away then. */
	ret = filesystem_commit(folder->fd);
	if (ret == 0)
		ret = fsync_folder_touch(folder);
	if (ret == 0)
		ret = commit_counters_read_generation(folder->fd, &before);
	if (ret < 0)
		return ret;
	count = time_fsyncs(folder, interrupts, times);
	if (count < 0)
		return count;
	ret = commit_counters_read_generation(folder->fd, &after);
	if (ret < 0)
		return ret;
	*ret_cost = (struct feature_cost){ 0 };
	if (before.generation_known && before.generation == after.generation)
		*ret_cost = (struct feature_cost){ median(times + count - TENTH, TENTH),
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

int probe_log_dir(int directory_fd, struct interrupts *interrupts, struct feature_cost *ret_cost)
{
	struct feature_cost cost = { 0 };
	int ret = 0;

	for (int i = 0; i < ATTEMPTS && ret == 0 && !cost.reference; i++) {
		struct fsync_folder folder;
		int removed;

		ret = fsync_folder_new(directory_fd, &folder, NULL);
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
