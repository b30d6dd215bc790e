// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "fsync-folder.h"

#define MARK "user.btrfs-fastpath.log-stats"
#define FILE_PREFIX "file_"
#define FILE_NAME_SIZE 32
/* Of 2^32 names the next one is free. */
#define ATTEMPTS 16

static int make_directory(struct fsync_folder *folder)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int ret = random_name(folder->name, sizeof(folder->name), FSYNC_FOLDER_PREFIX);

		if (ret < 0)
			return ret;
		if (mkdirat(folder->parent_fd, folder->name, 0700) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Whether it is a directory, and of this user: in a shared directory others may replace it. */
static int open_directory(struct fsync_folder *folder)
{
	struct stat status;

	folder->fd = openat(folder->parent_fd, folder->name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->fd < 0 || fstat(folder->fd, &status) < 0)
		return -errno;
	return status.st_uid == geteuid() ? 0 : -EPERM;
}

static int mark(struct fsync_folder *folder)
{
	int ret = open_directory(folder);

	if (ret < 0)
		return ret;
	/* Somebody who looks for those left behind may hold it for a moment. */
	while (flock(folder->fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return fsetxattr(folder->fd, MARK, "1", 1, XATTR_CREATE) < 0 ? -errno : 0;
}

int fsync_folder_new(int parent_fd, struct fsync_folder *ret_folder)
{
	struct fsync_folder folder = { .parent_fd = parent_fd, .fd = -1 };
	int ret;

	ret = make_directory(&folder);
	if (ret < 0)
		return ret;
	ret = mark(&folder);
	if (ret < 0) {
		unlinkat(parent_fd, folder.name, AT_REMOVEDIR);
		fsync_folder_close(&folder);
		return ret;
	}
	*ret_folder = folder;
	return 0;
}

int fsync_folder_add(struct fsync_folder *folder)
{
	char name[FILE_NAME_SIZE];
	int fd;

	snprintf(name, sizeof(name), FILE_PREFIX "%" PRIu64, folder->file_count + 1);
	do {
		fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	close(fd);
	folder->file_count++;
	return 0;
}

int fsync_folder_sync(struct fsync_folder *folder, uint64_t *ret_nanoseconds)
{
	uint64_t start = monotonic_ns();

	while (fsync(folder->fd) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_nanoseconds = monotonic_ns() - start;
	return 0;
}

int fsync_folder_touch(struct fsync_folder *folder)
{
	return futimens(folder->fd, NULL) < 0 ? -errno : 0;
}

/* Whether it is an empty regular file with one of our names. */
static bool is_ours(struct fsync_folder *folder, const char *name)
{
	const char *digits = name + strlen(FILE_PREFIX);
	struct stat status;

	if (strncmp(name, FILE_PREFIX, strlen(FILE_PREFIX)) != 0 || !*digits)
		return false;
	for (; *digits; digits++)
		if (!isdigit((unsigned char)*digits))
			return false;
	return fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status.st_mode) && !status.st_size;
}

static DIR *open_entries(int fd)
{
	int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = own_fd < 0 ? NULL : fdopendir(own_fd);

	if (!entries && own_fd >= 0)
		close(own_fd);
	return entries;
}

static int remove_directory(struct fsync_folder *folder)
{
	if (unlinkat(folder->parent_fd, folder->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int fsync_folder_remove_next(struct fsync_folder *folder)
{
	const struct dirent *entry;
	int ret;

	if (!folder->entries) {
		folder->entries = open_entries(folder->fd);
		/* Somebody has removed it already. */
		if (!folder->entries)
			return errno == ENOENT ? remove_directory(folder) : -errno;
	}
	while (errno = 0, (entry = readdir(folder->entries))) {
		if (!is_ours(folder, entry->d_name))
			continue;
		if (unlinkat(folder->fd, entry->d_name, 0) == 0)
			return 1;
		if (errno == ENOENT)
			continue;
		ret = -errno;
		rewinddir(folder->entries);
		return ret;
	}
	return errno ? -errno : remove_directory(folder);
}

void fsync_folder_close(struct fsync_folder *folder)
{
	if (folder->entries)
		closedir(folder->entries);
	if (folder->fd >= 0)
		close(folder->fd);
	folder->entries = NULL;
	folder->fd = -1;
}

/* Opens and locks the folder NAME if its program is gone. */
static bool open_left(int parent_fd, const char *name, struct fsync_folder *folder)
{
	*folder = (struct fsync_folder){ .parent_fd = parent_fd, .fd = -1 };
	if (strncmp(name, FSYNC_FOLDER_PREFIX, strlen(FSYNC_FOLDER_PREFIX)) != 0 ||
	    strlen(name) >= sizeof(folder->name))
		return false;
	strcpy(folder->name, name);
	if (open_directory(folder) == 0 && flock(folder->fd, LOCK_EX | LOCK_NB) == 0 &&
	    fgetxattr(folder->fd, MARK, NULL, 0) >= 0)
		return true;
	fsync_folder_close(folder);
	return false;
}

static void close_entries(DIR **entries)
{
	if (*entries)
		closedir(*entries);
}

int fsync_folder_each_left(int parent_fd, int (*found)(void *data, struct fsync_folder *folder),
			   void *data)
{
	CLEANUP(close_entries) DIR *entries = open_entries(parent_fd);
	const struct dirent *entry;
	int ret = 0;

	if (!entries)
		return -errno;
	while (ret >= 0 && (errno = 0, entry = readdir(entries))) {
		struct fsync_folder folder;

		if (!open_left(parent_fd, entry->d_name, &folder))
			continue;
		ret = found(data, &folder);
		fsync_folder_close(&folder);
	}
	return ret < 0 ? ret : -errno;
}
