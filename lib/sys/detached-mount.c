// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <linux/mount.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/cleanup.h"
#include "sys/detached-mount.h"

/* Not every C library has functions for these calls. */
int detached_mount_open(const char *type, const char *source)
{
	CLEANUP_CLOSE int context_fd = syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (context_fd < 0)
		return -errno;
	if (source &&
	    syscall(SYS_fsconfig, context_fd, FSCONFIG_SET_STRING, "source", source, 0) < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = syscall(SYS_fsmount, context_fd, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}
