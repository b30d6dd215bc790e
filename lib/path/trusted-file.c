// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path/parent-directory.h"
#include "path/trusted-file.h"
#include "sys/cleanup.h"

/* Any owner that has no number in this user namespace, the caller perhaps among them. */
#define OVERFLOW_UID 65534

bool directory_is_trusted(const struct stat *status)
{
	if (status->st_uid && (status->st_uid != geteuid() || status->st_uid == OVERFLOW_UID))
		return false;
	/* The bits of the group are the mask of an access control list, if there is one. */
	return !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* Whether only root and the caller can change or replace NAME in DIRECTORY. */
static int check(int directory_fd, const char *name)
{
	struct stat directory, program;

	if (fstat(directory_fd, &directory) < 0 ||
	    fstatat(directory_fd, name, &program, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(program.st_mode))
		return -EPERM;
	/* The same owners and bits decide who can write to a file. */
	return directory_is_trusted(&directory) && directory_is_trusted(&program) ? 0 : -EPERM;
}

int trusted_program_check(const char *path)
{
	CLEANUP_CLOSE int fd = parent_directory_open(path);

	return fd < 0 ? fd : check(fd, path_last_component(path));
}

int trusted_file_open(const char *path)
{
	CLEANUP_CLOSE int directory_fd = parent_directory_open(path);
	const char *name = path_last_component(path);
	int fd, ret;

	ret = directory_fd < 0 ? directory_fd : check(directory_fd, name);
	if (ret < 0)
		return ret;
	/* Nobody else can have put another file there meanwhile. */
	fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
