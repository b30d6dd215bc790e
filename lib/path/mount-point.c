// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include "path/inode-identity.h"
#include "path/mount-cleanup.h"
#include "path/mount-point.h"

int mount_point_of(int fd, char **ret_path)
{
	CLEANUP_MOUNT_TABLE struct libmnt_table *mounts = NULL;
	CLEANUP_MOUNT_ITER struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *mount;
	uint64_t identity;
	int ret;

	ret = mount_identity_of(fd, &identity);
	if (ret < 0)
		return ret;
	mounts = mnt_new_table_from_file("/proc/self/mountinfo");
	if (!mounts || !iter)
		return -ENOENT;
	while (mnt_table_next_fs(mounts, iter, &mount) == 0) {
		if ((uint64_t)mnt_fs_get_id(mount) != identity || !mnt_fs_get_target(mount))
			continue;
		*ret_path = strdup(mnt_fs_get_target(mount));
		return *ret_path ? 0 : -ENOMEM;
	}
	return -ENOENT;
}
