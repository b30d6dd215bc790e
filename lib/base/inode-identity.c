// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fcntl.h>
#include <linux/stat.h>

#include "base/inode-identity.h"

/* As the kernel has it: the structs of some C libraries are without the mount. */
static int kernel_statx(int fd, unsigned int flags, unsigned int mask, struct statx *ret_status)
{
	return syscall(SYS_statx, fd, "", AT_EMPTY_PATH | flags, mask, ret_status) < 0 ? -errno : 0;
}

int inode_identity_of(int fd, struct inode_identity *ret_identity)
{
	struct statx status;
	int ret = kernel_statx(fd, 0, STATX_INO | STATX_BTIME, &status);

	if (ret < 0)
		return ret;
	*ret_identity = (struct inode_identity){
		.inode = status.stx_ino,
		.birth_s = status.stx_btime.tv_sec,
		.birth_ns = status.stx_btime.tv_nsec,
	};
	return 0;
}

int mount_identity_of(int fd, uint64_t *ret_mount)
{
	struct statx status;
	int ret = kernel_statx(fd, AT_STATX_DONT_SYNC, STATX_MNT_ID, &status);

	if (ret < 0)
		return ret;
	if (status.stx_mask & STATX_MNT_ID)
		*ret_mount = status.stx_mnt_id;
	else
		*ret_mount = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
	return 0;
}
