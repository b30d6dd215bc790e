// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/relocation-watch.h"
#include "fs/tree-batch.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

#define PAUSE_NS NANOSECONDS_PER_MILLISECOND
#define PAUSES_MAX 5000
#define AWAIT_MAX 500
#define FAILURES_MAX 100
#define ROOM 4096

struct relocation_watch {
	int fd;
	int generation_fd;
	atomic_uint pause_count;
	/* in a row */
	atomic_uint failure_count;
	atomic_bool has_failed;
};

int relocation_watch_new(struct relocation_watch **ret_watch, const char *sysfs, int fd,
			 const uint8_t fsid[FSID_SIZE])
{
	struct relocation_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->fd = fd;
	watch->generation_fd = sysfs_attribute_open(sysfs, fsid, "generation");

	*ret_watch = watch;
	return 0;
}

void relocation_watch_free(struct relocation_watch *watch)
{
	if (!watch)
		return;
	close_fd(&watch->generation_fd);
	free(watch);
}

int relocation_is_merging(int fd)
{
	const struct tree_key min = { BTRFS_TREE_RELOC_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key max = { BTRFS_TREE_RELOC_OBJECTID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	CLEANUP(tree_batch_freep) struct tree_batch *batch = NULL;
	struct tree_item item;
	int ret;

	ret = tree_batch_new(&batch, ROOM);
	if (ret == 0)
		ret = tree_batch_fetch(batch, fd, BTRFS_ROOT_TREE_OBJECTID, min, max, 1);
	return ret < 0 ? ret : tree_batch_next(batch, &item);
}

int relocation_watch_begin(struct relocation_watch *watch, struct relocation_mark *mark)
{
	int ret;

	if (!watch || mark->is_valid)
		return 0;
	for (;;) {
		sysfs_attribute_read(watch->generation_fd, mark->generation);
		if (!*mark->generation)
			watch->has_failed = true;
		ret = relocation_is_merging(watch->fd);
		if (ret <= 0 || relocation_watch_has_failed(watch))
			return ret < 0 ? ret : 0;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		if (++watch->pause_count >= PAUSES_MAX)
			watch->has_failed = true;
	}
}

static bool still_holds(const struct relocation_watch *watch, const struct relocation_mark *mark)
{
	char generation[SYSFS_ATTRIBUTE_SIZE];

	if (relocation_is_merging(watch->fd))
		return false;
	sysfs_attribute_read(watch->generation_fd, generation);
	return sysfs_attribute_is_same(mark->generation, generation);
}

bool relocation_watch_holds(struct relocation_watch *watch, struct relocation_mark *mark)
{
	if (!watch || relocation_watch_has_failed(watch))
		return true;
	mark->is_valid = still_holds(watch, mark);
	if (mark->is_valid)
		watch->failure_count = 0;
	else if (++watch->failure_count >= FAILURES_MAX)
		watch->has_failed = true;
	return mark->is_valid;
}

void relocation_watch_await_merge(const struct relocation_watch *watch)
{
	bool was_merging = false;

	for (int i = 0; i < AWAIT_MAX; i++) {
		bool is_merging = relocation_is_merging(watch->fd) > 0;

		if (was_merging && !is_merging)
			return;
		was_merging = is_merging;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
}

bool relocation_watch_has_failed(const struct relocation_watch *watch)
{
	return watch->has_failed;
}
