// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>

#include "path/open-beneath.h"
#include "probe/probe-folder.h"
#include "sys/cleanup.h"

#define FOLDER_MODE 0700
/* Of 2^32 names the next one is free. */
#define ATTEMPTS 16

static int make_folder(struct probe_folder *folder)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int ret = probe_name(folder->name);

		if (ret < 0)
			return ret;
		if (mkdirat(folder->parent_fd, folder->name, FOLDER_MODE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static void close_entries(DIR **entries)
{
	if (*entries)
		closedir(*entries);
}

/* Returns 1, 0, or a negative errno. */
static int is_empty(int fd)
{
	int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_entries) DIR *entries = own_fd < 0 ? NULL : fdopendir(own_fd);
	const struct dirent *entry;

	if (!entries) {
		int ret = -errno;

		close_fd(&own_fd);
		return ret;
	}
	while (errno = 0, (entry = readdir(entries)))
		if (!is_dot_dotdot(entry->d_name))
			return 0;
	return errno ? -errno : 1;
}

/* Nobody but this user can have made such a directory, and it makes no difference which it is. */
static int check_folder(const struct probe_folder *folder)
{
	struct stat status, parent;
	int ret;

	if (fstat(folder->fd, &status) < 0 || fstat(folder->parent_fd, &parent) < 0)
		return -errno;
	if (status.st_uid != geteuid() || status.st_dev != parent.st_dev ||
	    (status.st_mode & 0777) != FOLDER_MODE)
		return -ESTALE;
	ret = is_empty(folder->fd);
	return ret == 0 ? -ESTALE : ret < 0 ? ret : 0;
}

static int open_folder(struct probe_folder *folder)
{
	folder->fd = openat(folder->parent_fd, folder->name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->fd >= 0)
		return check_folder(folder);
	/* It is a directory, it may be entered, and nobody has removed it, unless it is another. */
	return errno == ENOTDIR || errno == ELOOP || errno == EACCES || errno == ENOENT ? -ESTALE :
											  -errno;
}

int probe_folder_new(int parent_fd, struct probe_folder *ret_folder)
{
	struct probe_folder folder = { .parent_fd = parent_fd, .fd = -1 };
	int ret;

	ret = make_folder(&folder);
	if (ret < 0)
		return ret;
	ret = open_folder(&folder);
	if (ret < 0) {
		unlinkat(parent_fd, folder.name, AT_REMOVEDIR);
		close_fd(&folder.fd);
		return ret;
	}
	*ret_folder = folder;
	return 0;
}

static int check_place(const struct probe_folder *folder)
{
	struct stat made, named;

	if (fstat(folder->fd, &made) < 0)
		return -errno;
	if (fstatat(folder->parent_fd, folder->name, &named, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return named.st_dev == made.st_dev && named.st_ino == made.st_ino ? 0 : -ESTALE;
}

int probe_folder_remove(struct probe_folder *folder)
{
	int ret = check_place(folder);

	if (ret == 0 && unlinkat(folder->parent_fd, folder->name, AT_REMOVEDIR) < 0)
		ret = -errno;
	close(folder->fd);
	folder->fd = -1;
	return ret;
}

bool probe_folder_is_safe_in(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || (status.st_uid && status.st_uid != geteuid()))
		return false;
	return status.st_mode & S_ISVTX || !(status.st_mode & (S_IWGRP | S_IWOTH));
}
