// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmount.h>

#include "fs/subvolume.h"
#include "send-reada-target.h"
#include "sys/cleanup.h"
#include "ui/directory.h"
#include "ui/message.h"

/*
 * Whether the subvolume PARENT is below the directory that is mounted where DIRECTORY is. Returns 1, 0 or a
 * negative errno.
 */
static int is_below_mount(const char *directory, const char *parent)
{
	CLEANUP_FREE char *real = realpath(directory, NULL);
	struct libmnt_table *mounts;
	struct libmnt_fs *mount;
	const char *root = NULL;
	size_t length = 0;
	int ret = -ENOENT;

	if (!real)
		return -errno;
	mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	mount = mounts ? mnt_table_find_mountpoint(mounts, real, MNT_ITER_BACKWARD) : NULL;
	if (mount)
		root = mnt_fs_get_root(mount);
	if (root) {
		/* It begins with a slash, and the path of a subvolume does not. */
		root += strspn(root, "/");
		length = strlen(root);
		ret = !length || (strncmp(parent, root, length) == 0 &&
				  (parent[length] == '/' || !parent[length]));
	}
	mnt_unref_table(mounts);
	return ret;
}

static int find_parent(struct send_target *target, int fd, const uint8_t *parent_uuid)
{
	uint64_t subvolid;
	int ret = subvolume_find_received(fd, parent_uuid, &subvolid);

	if (ret == -ENOENT)
		ret = subvolume_find_uuid(fd, parent_uuid, &subvolid);
	if (ret == 0)
		ret = subvolume_path(fd, subvolid, &target->parent_path);
	target->has_parent = answer_of(ret == 0 || ret == -ENOENT, ret == 0);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	ret = is_below_mount(target->directory, target->parent_path);
	target->is_reachable = ret > 0;
	return ret < 0 ? ret : 0;
}

int send_target_find(struct send_target *target, const uint8_t *parent_uuid)
{
	CLEANUP_CLOSE int fd = directory_open(target->directory);
	int ret;

	if (fd < 0)
		return -1;
	ret = find_parent(target, fd, parent_uuid);
	if (ret < 0)
		error_path("cannot look for the parent at", target->directory, ret);
	return ret < 0 ? -1 : 0;
}

bool send_target_lacks_parent(const struct send_target *target)
{
	return target->has_parent == ANSWER_NO ||
	       (target->has_parent == ANSWER_YES && !target->is_reachable);
}
