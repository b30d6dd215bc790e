// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <btrfsutil.h>

#include "cleanup.h"
#include "feature-probe.h"
#include "fiemap.h"
#include "least-time.h"
#include "probe-files.h"
#include "share-timing.h"
#include "subvolume.h"

#define SHARED_EXTENTS 2000
#define SNAPSHOT "snapshot"
#define SHARED_FILE "extents"

struct snapshotted {
	int parent_fd;
	int fd;
	char name[PROBE_NAME_SIZE];
};

static int make_snapshotted(int parent_fd, struct snapshotted *subvolume)
{
	int ret;

	*subvolume = (struct snapshotted){ .parent_fd = parent_fd, .fd = -1 };
	ret = probe_name(subvolume->name);
	if (ret == 0)
		ret = subvolume_errno(
			btrfs_util_create_subvolume_fd(parent_fd, subvolume->name, 0, NULL, NULL));
	if (ret < 0)
		return ret;
	subvolume->fd = openat(parent_fd, subvolume->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return subvolume->fd < 0 ? -errno : 0;
}

/* Empty subvolumes can be removed as directories, by everybody who made them. */
static int remove_snapshotted(struct snapshotted *subvolume)
{
	int ret = 0;

	if (subvolume->fd >= 0) {
		ret = probe_remove(subvolume->fd, SNAPSHOT "/" SHARED_FILE, 0);
		if (ret == 0)
			ret = probe_remove(subvolume->fd, SNAPSHOT, AT_REMOVEDIR);
		if (ret == 0)
			ret = probe_remove(subvolume->fd, SHARED_FILE, 0);
		close(subvolume->fd);
	}
	if (ret == 0)
		ret = probe_remove(subvolume->parent_fd, subvolume->name, AT_REMOVEDIR);
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
	uint64_t elapsed;

	return share_timing_once(data, fd, WHOLE_FILE, &elapsed);
}

static int time_shared(int fd, struct feature_cost *ret_cost)
{
	CLEANUP(fiemap_iter_freep) struct fiemap_iter *iter = NULL;
	uint64_t map_ns, all_ns;
	int ret;

	ret = fiemap_iter_new(&iter);
	if (ret == 0)
		ret = least_time_of(map_without_check, fd, NULL, &map_ns);
	if (ret == 0)
		ret = least_time_of(map_with_check, fd, iter, &all_ns);
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
	ret = probe_write_every_other(fd, 0, SHARED_EXTENTS / 2);
	if (ret == 0)
		ret = probe_write_every_other(fd, 1, SHARED_EXTENTS / 2);
	if (ret == 0)
		ret = subvolume_errno(btrfs_util_create_snapshot_fd2(subvolume->fd, subvolume->fd,
								     SNAPSHOT, 0, NULL, NULL));
	if (ret == 0)
		ret = probe_interrupted(interrupts);
	return ret < 0 ? ret : time_shared(fd, ret_cost);
}

int probe_fiemap_leaf(const struct probe_directory *directory, struct interrupts *interrupts,
		      struct feature_cost *ret_cost)
{
	struct snapshotted subvolume;
	int ret, removed;

	ret = make_snapshotted(directory->fd, &subvolume);
	if (ret == 0)
		ret = snapshot_and_time(&subvolume, interrupts, ret_cost);
	removed = remove_snapshotted(&subvolume);
	return ret < 0 ? ret : removed;
}
