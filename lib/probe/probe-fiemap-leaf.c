// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include <btrfsutil.h>

#include "fs/fiemap.h"
#include "fs/subvolume.h"
#include "probe/feature-probe.h"
#include "probe/probe-files.h"
#include "sharing/fiemap-timing.h"
#include "sys/cleanup.h"
#include "sys/min-cpu-time.h"

#define SHARED_EXTENTS 2000
#define SUBVOLUME "subvolume"
#define SNAPSHOT "snapshot"
#define SHARED_FILE "extents"

static int map_without_check(int fd, void *data)
{
	uint32_t count;

	(void)data;
	return fiemap_count(fd, WHOLE_FILE, &count);
}

static int map_with_check(int fd, void *data)
{
	uint64_t elapsed;

	return fiemap_timing_once(data, fd, WHOLE_FILE, &elapsed);
}

static int time_shared(int fd, struct feature_cost *ret_cost)
{
	CLEANUP(fiemap_iter_freep) struct fiemap_iter *iter = NULL;
	uint64_t map_ns, all_ns;
	int ret;

	ret = fiemap_iter_new(&iter);
	if (ret == 0)
		ret = min_cpu_time_of(map_without_check, fd, NULL, &map_ns);
	if (ret == 0)
		ret = min_cpu_time_of(map_with_check, fd, iter, &all_ns);
	if (ret == 0)
		*ret_cost = (struct feature_cost){ all_ns > map_ns ? all_ns - map_ns : 0, map_ns };
	return ret;
}

static int snapshot_and_time(int subvolume_fd, int fd, struct interrupts *interrupts,
			     struct feature_cost *ret_cost)
{
	int ret, removed;

	ret = subvolume_errno(btrfs_util_create_snapshot_fd2(subvolume_fd, subvolume_fd, SNAPSHOT,
							     0, NULL, NULL));
	if (ret < 0)
		return ret;
	ret = probe_interrupted(interrupts);
	if (ret == 0)
		ret = time_shared(fd, ret_cost);
	/* Empty subvolumes can be removed as directories, by everybody who made them. */
	removed = probe_remove(subvolume_fd, SNAPSHOT "/" SHARED_FILE, 0);
	if (removed == 0)
		removed = probe_remove(subvolume_fd, SNAPSHOT, AT_REMOVEDIR);
	return ret < 0 ? ret : removed;
}

static int write_and_time(int subvolume_fd, struct interrupts *interrupts,
			  struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = openat(subvolume_fd, SHARED_FILE,
				      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret, removed;

	if (fd < 0)
		return -errno;
	/* Neighbours in the file, and not on the disk: no hole is to be looked into. */
	ret = probe_write_every_other(fd, 0, SHARED_EXTENTS / 2);
	if (ret == 0)
		ret = probe_write_every_other(fd, 1, SHARED_EXTENTS / 2);
	if (ret == 0)
		ret = snapshot_and_time(subvolume_fd, fd, interrupts, ret_cost);
	removed = probe_remove(subvolume_fd, SHARED_FILE, 0);
	return ret < 0 ? ret : removed;
}

static int time_in_subvolume(int directory_fd, struct interrupts *interrupts,
			     struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = openat(directory_fd, SUBVOLUME,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : write_and_time(fd, interrupts, ret_cost);
}

int probe_fiemap_leaf(int directory_fd, struct interrupts *interrupts,
		      struct feature_cost *ret_cost)
{
	int ret, removed;

	errno = 0;
	ret = subvolume_errno(btrfs_util_create_subvolume_fd(directory_fd, SUBVOLUME, 0, NULL,
							     NULL));
	if (ret < 0)
		return ret;
	ret = time_in_subvolume(directory_fd, interrupts, ret_cost);
	removed = probe_remove(directory_fd, SUBVOLUME, AT_REMOVEDIR);
	return ret < 0 ? ret : removed;
}
