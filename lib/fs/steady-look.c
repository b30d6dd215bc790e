// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/operation-watch.h"
#include "fs/steady-look.h"
#include "fs/subvolume.h"
#include "fs/tree-range.h"
#include "num/digest.h"
#include "path/inode-identity.h"
#include "sys/cleanup.h"

/* What the root tree has of the subvolumes at one moment. */
struct roots {
	/* which subvolumes there are, and the same with the state of their trees */
	uint64_t list;
	uint64_t trees;
	/* a relocation has not merged all of them */
	bool relocating;
	/* deleted, and the cleaner is not done with it */
	bool cleaning;
};

struct state {
	/* only with CAP_SYS_ADMIN */
	bool has_roots;
	struct roots roots;
};

struct watched {
	uint8_t fsid[FSID_SIZE];
	int fd;
	struct operation_watch operation;
	struct state begin;
	/* while an operation moves extents, with CAP_SYS_ADMIN */
	struct relocation_watch *relocation;
};

struct steady_look {
	pthread_mutex_t lock;
	const char *sysfs;
	enum look_purpose purpose;
	/* some of the file systems */
	bool has_relocation;
	/* of the first file system that could not begin: its files are not watched */
	int failure;
	struct inode_set *devices;
	struct watched *list;
	size_t count;
};

int steady_look_new(struct steady_look **ret_look, const char *sysfs, enum look_purpose purpose)
{
	struct steady_look *look = calloc(1, sizeof(*look));

	if (!look)
		return -ENOMEM;
	pthread_mutex_init(&look->lock, NULL);
	look->purpose = purpose;
	look->sysfs = sysfs;
	if (inode_set_new(&look->devices) < 0) {
		steady_look_free(look);
		return -ENOMEM;
	}

	*ret_look = look;
	return 0;
}

void steady_look_free(struct steady_look *look)
{
	if (!look)
		return;
	for (size_t i = 0; i < look->count; i++) {
		close_fd(&look->list[i].fd);
		operation_watch_end(&look->list[i].operation);
		relocation_watch_free(look->list[i].relocation);
	}
	inode_set_free(look->devices);
	free(look->list);
	pthread_mutex_destroy(&look->lock);
	free(look);
}

/* -- what the root tree has -- */

static void add_root(struct roots *roots, const struct tree_item *item)
{
	struct btrfs_root_item raw = { 0 };
	const uint64_t number[] = { item->objectid, item->offset, item->size };

	memcpy(&raw, item->data, item->size < sizeof(raw) ? item->size : sizeof(raw));
	if (!raw.refs)
		roots->cleaning = true;
	roots->list = digest_add(roots->list, number, sizeof(number));
	roots->list = digest_add(roots->list, &raw.refs, sizeof(raw.refs));
	roots->trees = digest_add(roots->trees, number, sizeof(number));
	roots->trees = digest_add(roots->trees, item->data, item->size);
}

static int add_item(void *data, const struct tree_item *item)
{
	struct roots *roots = data;

	if (item->type == BTRFS_ORPHAN_ITEM_KEY && item->objectid == BTRFS_ORPHAN_OBJECTID)
		roots->cleaning = true;
	if (item->type == BTRFS_ROOT_ITEM_KEY && is_subvolume_id(item->objectid))
		add_root(roots, item);
	return 0;
}

static int read_roots(int fd, struct roots *ret_roots)
{
	const struct tree_key min = { BTRFS_FS_TREE_OBJECTID, 0, 0 };
	const struct tree_key max = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	struct roots roots = { .list = DIGEST_START, .trees = DIGEST_START };
	int ret;

	ret = tree_range_each(fd, BTRFS_ROOT_TREE_OBJECTID, min, max, add_item, &roots);
	if (ret < 0)
		return ret;

	*ret_roots = roots;
	return 0;
}

/* -- the begin and the end -- */

/*
 * Without CAP_SYS_ADMIN there are no roots. What is merged during the commit at the end comes after the
 * look, and does not count.
 */
static int read_state(const struct watched *watched, bool commits, struct state *state)
{
	int merging = relocation_is_merging(watched->fd);
	int ret;

	if (merging < 0)
		return merging == -EPERM ? 0 : merging;
	/* Root items are up to date after a commit only. */
	ret = commits ? filesystem_commit(watched->fd) : 0;
	if (ret == 0)
		ret = read_roots(watched->fd, &state->roots);
	state->roots.relocating = merging;
	state->has_roots = ret == 0;
	return ret;
}

static int begin(struct steady_look *look, struct watched *watched)
{
	struct state *state = &watched->begin;
	bool moves;
	int ret;

	operation_watch_begin(&watched->operation, look->sysfs, watched->fsid);
	moves = operation_moves_extents(watched->operation.begin.operation);
	ret = read_state(watched, look->purpose == LOOK_FOR_REFERENCES || moves, state);
	if (ret < 0 || !moves || !state->has_roots)
		return ret;
	look->has_relocation = true;
	return relocation_watch_new(&watched->relocation, look->sysfs, watched->fd, watched->fsid);
}

static int add_filesystem(struct steady_look *look, int fd, const uint8_t fsid[FSID_SIZE])
{
	struct watched *list = reallocarray(look->list, look->count + 1, sizeof(*list));
	struct watched *watched;

	if (!list)
		return -ENOMEM;
	look->list = list;
	watched = &list[look->count];
	*watched = (struct watched){
		.operation.ended_fd = -1,
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	};
	if (watched->fd < 0)
		return -errno;
	look->count++;
	memcpy(watched->fsid, fsid, FSID_SIZE);
	return begin(look, watched);
}

static int add_device(struct steady_look *look, int fd, dev_t device)
{
	uint8_t fsid[FSID_SIZE];
	int ret;

	/* Each subvolume has a device number. */
	ret = inode_set_add(look->devices, device, 0);
	if (ret <= 0)
		return ret;
	ret = filesystem_id_of(fd, fsid);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < look->count; i++)
		if (memcmp(look->list[i].fsid, fsid, FSID_SIZE) == 0)
			return 0;
	return add_filesystem(look, fd, fsid);
}

struct relocation_watch *steady_look_watch(const struct steady_look *look,
					   const uint8_t fsid[FSID_SIZE])
{
	for (size_t i = 0; i < look->count; i++)
		if (memcmp(look->list[i].fsid, fsid, FSID_SIZE) == 0)
			return look->list[i].relocation;
	return NULL;
}

void steady_look_await_merge(const struct steady_look *look)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->list[i].relocation)
			relocation_watch_await_merge(look->list[i].relocation);
}

static int find_watch(const struct steady_look *look, int fd, struct relocation_watch **ret_watch)
{
	uint8_t fsid[FSID_SIZE];
	int ret;

	*ret_watch = NULL;
	if (!look->has_relocation)
		return 0;
	ret = filesystem_id_of(fd, fsid);
	if (ret == 0)
		*ret_watch = steady_look_watch(look, fsid);
	return ret;
}

int steady_look_add(struct steady_look *look, int fd, dev_t device,
		    struct relocation_watch **ret_watch)
{
	int ret;

	pthread_mutex_lock(&look->lock);
	ret = add_device(look, fd, device);
	if (ret < 0 && !look->failure)
		look->failure = ret;
	if (ret == 0)
		ret = find_watch(look, fd, ret_watch);
	pthread_mutex_unlock(&look->lock);
	return ret;
}

static enum steadiness compare_roots(const struct steady_look *look, const struct roots *begin,
				     const struct roots *end, bool moved)
{
	bool compares_trees = moved || look->purpose == LOOK_FOR_REFERENCES;

	if (begin->cleaning || end->cleaning || begin->list != end->list)
		return LOOK_CHANGED;
	return compares_trees && begin->trees != end->trees ? LOOK_CHANGED : LOOK_STEADY;
}

static enum steadiness compare(const struct steady_look *look, const struct watched *watched,
			       const struct state *end, const struct operation_state *now,
			       bool moved)
{
	const struct state *begin = &watched->begin;

	if (!begin->has_roots || !end->has_roots) {
		if (moved)
			return LOOK_MOVING;
		return sysfs_attribute_is_same(watched->operation.begin.generation,
					       now->generation) ?
			       LOOK_STEADY :
			       LOOK_CHANGED;
	}
	if (begin->roots.relocating || end->roots.relocating)
		return LOOK_CHANGED;
	return compare_roots(look, &begin->roots, &end->roots, moved);
}

/*
 * Whether a change of MOVED data can be distinguished from other changes. FIEMAP is right if it was watched
 * from the begin on, but only lookups find extents that are elsewhere.
 */
static bool is_watched(const struct steady_look *look, const struct watched *watched,
		       enum steadiness steadiness)
{
	return watched->relocation && !relocation_watch_has_failed(watched->relocation) &&
	       (look->purpose != LOOK_FOR_ADDRESSES || steadiness == LOOK_STEADY);
}

static int end(const struct steady_look *look, const struct watched *watched,
	       struct look_outcome *outcome)
{
	enum steadiness steadiness;
	struct operation_state now;
	struct state end = { 0 };
	bool moved;
	int ret;

	moved = operation_watch_may_have_moved(&watched->operation, &now);
	ret = read_state(watched, look->purpose == LOOK_FOR_REFERENCES || moved, &end);
	if (ret < 0)
		return ret;
	steadiness = compare(look, watched, &end, &now, moved);
	if (moved && !is_watched(look, watched, steadiness))
		steadiness = LOOK_MOVING;
	if (steadiness > outcome->steadiness)
		outcome->steadiness = steadiness;
	outcome->has_moved |= moved;
	if (operation_moves_extents(now.operation))
		strcpy(outcome->operation, now.operation);
	return 0;
}

int steady_look_end(struct steady_look *look, struct look_outcome *ret_outcome)
{
	struct look_outcome outcome = { .steadiness = LOOK_STEADY };

	if (look->failure)
		return look->failure;
	for (size_t i = 0; i < look->count; i++) {
		int ret = end(look, &look->list[i], &outcome);

		if (ret < 0)
			return ret;
	}

	*ret_outcome = outcome;
	return 0;
}
