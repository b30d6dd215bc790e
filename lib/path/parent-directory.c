// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path/open-beneath.h"
#include "path/parent-directory.h"
#include "sys/cleanup.h"

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* As many as the kernel follows. */
#define LINKS_MAX 40

struct walk {
	int link_count;
	bool make;
};

/* Whether LINK, which is open itself, leads where nobody else may decide. */
static int check_link(int link, struct walk *walk)
{
	struct stat status;

	if (fstat(link, &status) < 0)
		return -errno;
	if (!S_ISLNK(status.st_mode))
		return -ENOTDIR;
	if (status.st_uid && status.st_uid != geteuid())
		return -EXDEV;
	return ++walk->link_count > LINKS_MAX ? -ELOOP : 0;
}

static int look_up(int from_fd, const char *path, struct walk *walk);

static int follow(int from_fd, const char *name, struct walk *walk)
{
	CLEANUP_CLOSE int link = openat(from_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE char *target = calloc(1, PATH_MAX);
	int ret;

	if (link < 0)
		return -errno;
	if (!target)
		return -ENOMEM;
	ret = check_link(link, walk);
	if (ret < 0)
		return ret;
	if (readlinkat(link, "", target, PATH_MAX - 1) < 0)
		return -errno;
	return look_up(from_fd, target, walk);
}

static int step(int from_fd, const char *name, void *data)
{
	struct walk *walk = data;
	int fd = openat(from_fd, name, DIRECTORY_FLAGS);

	if (fd < 0 && errno == ENOENT && walk->make) {
		if (mkdirat(from_fd, name, 0755) < 0 && errno != EEXIST)
			return -errno;
		fd = openat(from_fd, name, DIRECTORY_FLAGS);
	}
	if (fd < 0 && errno == ENOTDIR)
		return follow(from_fd, name, walk);
	return fd < 0 ? -errno : fd;
}

/* Looks the directory PATH up. Returns a descriptor or a negative errno. */
static int look_up(int from_fd, const char *path, struct walk *walk)
{
	int fd = openat(from_fd, path[0] == '/' ? "/" : ".", DIRECTORY_FLAGS);

	return fd < 0 ? -errno : open_components(fd, path, step, walk);
}

const char *path_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int open_parent(const char *path, bool make)
{
	CLEANUP_FREE char *directory = strndup(path, path_last_component(path) - path);
	struct walk walk = { .make = make };

	return directory ? look_up(AT_FDCWD, directory, &walk) : -ENOMEM;
}

int parent_directory_open(const char *path)
{
	return open_parent(path, false);
}

int parent_directory_make(const char *path)
{
	return open_parent(path, true);
}
