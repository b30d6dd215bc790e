// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <linux/btrfs.h>

#include "fs/commit-counters.h"
#include "fs/counters.h"
#include "sys/clock.h"
#include "sys/retry-ioctl.h"

static void read_stats(const char *root, const uint8_t fsid[FSID_SIZE],
		       struct commit_counters *counters)
{
	struct counters stats;

	counters->stats_known =
		counters_read_file(root, fsid, "commit_stats", &stats) == 0 &&
		counters_find(&stats, "commits", &counters->commits) == 0 &&
		counters_find(&stats, "last_commit_ms", &counters->last_commit_ms) == 0 &&
		counters_find(&stats, "max_commit_ms", &counters->max_commit_ms) == 0 &&
		counters_find(&stats, "total_commit_ms", &counters->total_commit_ms) == 0;
}

void commit_counters_read_stats(const char *root, const uint8_t fsid[FSID_SIZE],
				struct commit_counters *ret_counters)
{
	*ret_counters = (struct commit_counters){ 0 };
	read_stats(root, fsid, ret_counters);
}

static int read_info(int fd, struct btrfs_ioctl_fs_info_args *info,
		     struct commit_counters *counters)
{
	int ret;

	*info = (struct btrfs_ioctl_fs_info_args){ .flags = BTRFS_FS_INFO_FLAG_GENERATION };
	ret = retry_ioctl(fd, BTRFS_IOC_FS_INFO, info, sizeof(*info));
	if (ret < 0)
		return ret;
	counters->generation_known = info->flags & BTRFS_FS_INFO_FLAG_GENERATION;
	counters->generation = info->generation;
	return 0;
}

int commit_counters_read(const char *root, int fd, struct commit_counters *ret_counters)
{
	struct commit_counters counters = { 0 };
	struct btrfs_ioctl_fs_info_args info;
	int ret;

	ret = read_info(fd, &info, &counters);
	if (ret < 0)
		return ret;
	read_stats(root, info.fsid, &counters);
	*ret_counters = counters;
	return 0;
}

struct commit_change commit_counters_change(const struct commit_counters *before,
					    const struct commit_counters *after)
{
	if (!before->stats_known || !after->stats_known || after->commits < before->commits ||
	    after->total_commit_ms < before->total_commit_ms)
		return (struct commit_change){ .known = false };
	return (struct commit_change){
		.known = true,
		.count = after->commits - before->commits,
		.total_ns = (after->total_commit_ms - before->total_commit_ms) *
			    NANOSECONDS_PER_MILLISECOND,
	};
}

int commit_counters_read_generation(int fd, struct commit_counters *counters)
{
	struct btrfs_ioctl_fs_info_args info;

	return read_info(fd, &info, counters);
}

void generation_offset_learn(struct generation_offset *offset,
			     const struct commit_counters *counters)
{
	uint64_t seen = counters->generation - counters->commits;

	if (!counters->generation_known || !counters->stats_known)
		return;
	if (!offset->generations || seen < offset->generations)
		offset->generations = seen;
}

const char *fsync_kind_name(enum fsync_kind kind)
{
	static const char *const names[FSYNC_KINDS] = {
		[FSYNC_LOG] = "log",
		[FSYNC_FULL] = "full",
		[FSYNC_UNCERTAIN] = "uncertain",
	};

	return names[kind];
}

/* Whether the commit of transaction GENERATION is among those counted in COUNTERS. */
static bool is_counted(uint64_t generation, const struct commit_counters *counters,
		       const struct generation_offset *offset)
{
	return counters->stats_known && offset->generations &&
	       generation - offset->generations < counters->commits;
}

enum fsync_kind fsync_kind_of(const struct fsync_evidence *evidence,
			      const struct generation_offset *offset)
{
	const struct commit_counters *before = &evidence->before;
	const struct commit_counters *after = &evidence->after;
	const struct commit_counters *later = &evidence->later;

	if (!before->generation_known || !later->generation_known)
		return FSYNC_UNCERTAIN;
	if (later->generation == before->generation)
		return FSYNC_LOG;
	if (later->generation - before->generation != 1)
		return FSYNC_UNCERTAIN;
	if (!is_counted(before->generation, after, offset))
		return FSYNC_UNCERTAIN;
	if (after->last_commit_ms > evidence->duration_ns / NANOSECONDS_PER_MILLISECOND)
		return FSYNC_UNCERTAIN;
	return FSYNC_FULL;
}
