// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include "path/inode-identity.h"
#include "path/open-beneath.h"
#include "sys/cleanup.h"

/* Returns 0, -EXDEV, or another negative errno. */
static int check_same_mount(int fd, int other_fd)
{
	uint64_t mount, other_mount;
	int ret;

	ret = mount_identity_of(fd, &mount);
	if (ret == 0)
		ret = mount_identity_of(other_fd, &other_mount);
	if (ret < 0)
		return ret;
	return mount == other_mount ? 0 : -EXDEV;
}

static int open_beneath_by_openat(int directory, const char *name, int flags)
{
	int fd = openat(directory, name, flags | O_NOFOLLOW);
	int ret;

	if (fd < 0)
		return -errno;
	ret = check_same_mount(directory, fd);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

/* Whether NAME is of something in the directory itself. */
static bool is_single_name(const char *name)
{
	return *name && !strchr(name, '/') && !is_dot_dotdot(name);
}

/*
 * A single name leads out of its directory by a link or a mount alone. RESOLVE_BENEATH would add
 * nothing, and answers -EXDEV, too, for what is renamed to elsewhere between the lookup of its name
 * and the check at the end: it would look like a mount point.
 */
int open_beneath_at_once(int directory, const char *name, int flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd;

	if (!is_single_name(name))
		return -EINVAL;
	fd = syscall(SYS_openat2, directory, name, &how, sizeof(how));
	if (fd >= 0)
		return fd;
	/* Linux before 5.6, and what seccomp filters answer that do not know the call. */
	return errno == EPERM ? -ENOSYS : -errno;
}

int open_beneath(int directory, const char *name, int flags)
{
	int fd = open_beneath_at_once(directory, name, flags);

	return fd == -ENOSYS ? open_beneath_by_openat(directory, name, flags) : fd;
}

int open_own_descriptors(void)
{
	int fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs filesystem;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &filesystem) == 0 && filesystem_has_type(&filesystem, PROC_SUPER_MAGIC))
		return fd;
	close(fd);
	return -ENOENT;
}

int reopen_for_reading(int own_descriptors, int path_fd)
{
	char number[16];
	int fd;

	snprintf(number, sizeof(number), "%d", path_fd);
	fd = openat(own_descriptors, number, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int open_components(int start, const char *path, open_component *open_one, void *data)
{
	int fd = start;

	for (path += strspn(path, "/"); *path && fd >= 0; path += strspn(path, "/")) {
		CLEANUP_CLOSE int parent = fd;
		size_t length = strcspn(path, "/");
		CLEANUP_FREE char *name = strndup(path, length);

		fd = name ? open_one(parent, name, data) : -ENOMEM;
		path += length;
	}
	return fd;
}
