// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fsync/fsync-folder.h"
#include "path/inode-identity.h"
#include "path/open-beneath.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

#define MARK "btrfs-fastpath.log-stats"
#define MARK_SIZE 64
#define FILE_PREFIX "file_"
#define FILE_NAME_SIZE 32
/* Of 2^32 names the next one is free; and nobody renames a folder so many times in a row. */
#define ATTEMPTS 64

static int make_fsync_directory(struct fsync_folder *folder)
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

static DIR *open_entries(int fd, const char *name)
{
	int own_fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = own_fd < 0 ? NULL : fdopendir(own_fd);

	if (!entries && own_fd >= 0)
		close(own_fd);
	return entries;
}

static void close_entries(DIR **entries)
{
	if (*entries)
		closedir(*entries);
}

static int expect_empty(int fd)
{
	CLEANUP(close_entries) DIR *entries = open_entries(fd, ".");
	const struct dirent *entry;

	if (!entries)
		return -errno;
	while (errno = 0, (entry = readdir(entries)))
		if (!is_dot_dotdot(entry->d_name))
			return -EEXIST;
	return -errno;
}

/*
 * The owner of the parent can have put another directory of this user in its place: what is in that
 * is not for us to remove, and nobody else may write there.
 */
static int expect_new(struct fsync_folder *folder)
{
	struct stat status;
	int ret;

	ret = open_directory(folder);
	if (ret < 0)
		return ret;
	if (fstat(folder->fd, &status) < 0)
		return -errno;
	return status.st_mode & (S_IRWXG | S_IRWXO) ? -EPERM : expect_empty(folder->fd);
}

/* -- the mark -- */

/* Attributes in "user." can be set by anybody who may write there, and root's folders can be anywhere. */
static const char *mark_name(void)
{
	return geteuid() == 0 ? "trusted." MARK : "user." MARK;
}

/* Of this very inode, so that a copy of the attribute is none. Returns 0 or a negative errno. */
static int mark_of(int fd, char ret_mark[MARK_SIZE])
{
	struct inode_identity identity;
	int ret = inode_identity_of(fd, &identity);

	if (ret < 0)
		return ret;
	snprintf(ret_mark, MARK_SIZE, "%" PRIu64 " %" PRId64 ".%09" PRIu32, identity.inode,
		 identity.birth_s, identity.birth_ns);
	return 0;
}

static int mark(struct fsync_folder *folder)
{
	char value[MARK_SIZE];
	int ret;

	/* Somebody who looks for those left behind may hold it for a moment. */
	if (flock(folder->fd, LOCK_EX) < 0)
		return -errno;
	ret = mark_of(folder->fd, value);
	if (ret < 0)
		return ret;
	if (fsetxattr(folder->fd, mark_name(), value, strlen(value), XATTR_CREATE) == 0)
		return 0;
	/* The root of a container or user namespace has to do without. */
	return errno == EPERM && geteuid() == 0 ? 0 : -errno;
}

static bool has_folder_mark(int fd)
{
	char expected[MARK_SIZE], found[MARK_SIZE];
	ssize_t size = fgetxattr(fd, mark_name(), found, sizeof(found));

	return size > 0 && mark_of(fd, expected) == 0 && (size_t)size == strlen(expected) &&
	       memcmp(found, expected, size) == 0;
}

/* Whether nobody else can have written there since it was made. */
static bool is_private(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (status.st_mode & 0777) == S_IRWXU;
}

/* -- removing -- */

static bool is_gone(const struct fsync_folder *folder)
{
	struct stat status;

	return fstat(folder->fd, &status) == 0 && !status.st_nlink;
}

/*
 * Between the look and the removal another empty directory can be put in its place, but only by
 * those who may rename both, and so may remove both themselves.
 */
static int remove_named(const struct fsync_folder *folder, int parent_fd, const char *name)
{
	struct stat own, found;

	if (fstat(folder->fd, &own) < 0 ||
	    fstatat(parent_fd, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (own.st_dev != found.st_dev || own.st_ino != found.st_ino)
		return -ENOENT;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* From the directory that it is in now, under the name that it has now. */
static int remove_moved(const struct fsync_folder *folder)
{
	CLEANUP(close_entries) DIR *entries = open_entries(folder->fd, "..");
	const struct dirent *entry;

	if (!entries)
		return -errno;
	while (errno = 0, (entry = readdir(entries))) {
		int ret;

		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		ret = remove_named(folder, dirfd(entries), entry->d_name);
		if (ret != -ENOENT)
			return ret;
	}
	return errno ? -errno : -ENOENT;
}

static int remove_directory(const struct fsync_folder *folder)
{
	int ret = -ENOENT;

	for (int i = 0; i < ATTEMPTS && ret == -ENOENT; i++) {
		if (is_gone(folder))
			return 0;
		ret = remove_named(folder, folder->parent_fd, folder->name);
		if (ret == -ENOENT)
			ret = remove_moved(folder);
	}
	return ret;
}

/* Returns 0 or a negative errno. */
static int remove_unused(const struct fsync_folder *folder)
{
	if (folder->fd >= 0)
		return remove_directory(folder);
	return unlinkat(folder->parent_fd, folder->name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int fsync_folder_new(int parent_fd, struct fsync_folder *ret_folder,
		     char ret_left[FSYNC_FOLDER_NAME_SIZE])
{
	struct fsync_folder folder = { .parent_fd = parent_fd, .fd = -1 };
	bool foreign;
	int ret;

	if (ret_left)
		*ret_left = '\0';
	ret = make_fsync_directory(&folder);
	if (ret < 0)
		return ret;
	ret = expect_new(&folder);
	foreign = ret == -EPERM || ret == -EEXIST;
	if (ret == 0)
		ret = mark(&folder);
	if (ret == 0) {
		*ret_folder = folder;
		return 0;
	}
	if ((foreign || remove_unused(&folder) < 0) && ret_left)
		strcpy(ret_left, folder.name);
	fsync_folder_close(&folder);
	return ret;
}

int fsync_folder_make_data(struct fsync_folder *folder, const char *name)
{
	int fd;

	do {
		fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	folder->file_count++;
	return fd;
}

int fsync_folder_add(struct fsync_folder *folder)
{
	char name[FILE_NAME_SIZE];
	int fd;

	snprintf(name, sizeof(name), FILE_PREFIX "%" PRIu64, folder->file_count + 1);
	fd = fsync_folder_make_data(folder, name);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int fsync_folder_replace_data(struct fsync_folder *folder)
{
	if (renameat(folder->fd, FSYNC_NEW_DATA_NAME, folder->fd, FSYNC_DATA_NAME) < 0)
		return -errno;
	folder->file_count = 1;
	return 0;
}

int fsync_folder_sync(struct fsync_folder *folder, uint64_t *ret_nanoseconds)
{
	return fsync_timed(folder->fd, ret_nanoseconds);
}

int fsync_timed(int fd, uint64_t *ret_nanoseconds)
{
	uint64_t start = monotonic_ns();

	while (fsync(fd) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_nanoseconds = monotonic_ns() - start;
	return 0;
}

int fsync_folder_touch(struct fsync_folder *folder)
{
	return futimens(folder->fd, NULL) < 0 ? -errno : 0;
}

static bool is_data_name(const char *name)
{
	return strcmp(name, FSYNC_DATA_NAME) == 0 || strcmp(name, FSYNC_NEW_DATA_NAME) == 0;
}

static bool is_file_name(const char *name)
{
	const char *digits = name + strlen(FILE_PREFIX);

	if (strncmp(name, FILE_PREFIX, strlen(FILE_PREFIX)) != 0 || !*digits)
		return false;
	return strspn(digits, "0123456789") == strlen(digits);
}

/* Whether it is a regular file with one of our names, and empty unless it is one of data. */
static bool is_ours(struct fsync_folder *folder, const char *name)
{
	bool may_have_data = is_data_name(name);
	struct stat status;

	if (!may_have_data && !is_file_name(name))
		return false;
	return fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status.st_mode) && (may_have_data || !status.st_size);
}

int fsync_folder_remove_next(struct fsync_folder *folder)
{
	const struct dirent *entry;
	int ret;

	if (!folder->entries) {
		folder->entries = open_entries(folder->fd, ".");
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

/* Opens the folder NAME if it can be one of this user's. */
static bool open_named_folder(int parent_fd, const char *name, struct fsync_folder *folder)
{
	*folder = (struct fsync_folder){ .parent_fd = parent_fd, .fd = -1 };
	if (strncmp(name, FSYNC_FOLDER_PREFIX, strlen(FSYNC_FOLDER_PREFIX)) != 0 ||
	    strlen(name) >= sizeof(folder->name))
		return false;
	strcpy(folder->name, name);
	if (open_directory(folder) == 0)
		return true;
	fsync_folder_close(folder);
	return false;
}

/* Calls FOUND for FOLDER, unless it is in use and has no mark, such as one that is being made. */
static int report_folder(struct fsync_folder *folder, fsync_folder_found *found, void *data)
{
	bool is_free = flock(folder->fd, LOCK_EX | LOCK_NB) == 0;
	bool certain = is_private(folder->fd) && has_folder_mark(folder->fd);

	if (is_free)
		return found(data, folder, certain ? FSYNC_FOLDER_LEFT : FSYNC_FOLDER_DOUBTFUL);
	return certain ? found(data, folder, FSYNC_FOLDER_IN_USE) : 0;
}

int fsync_folder_each_left(int parent_fd, fsync_folder_found *found, void *data)
{
	CLEANUP(close_entries) DIR *entries = open_entries(parent_fd, ".");
	const struct dirent *entry;
	int ret = 0;

	if (!entries)
		return -errno;
	while (ret >= 0 && (errno = 0, entry = readdir(entries))) {
		struct fsync_folder folder;

		if (!open_named_folder(parent_fd, entry->d_name, &folder))
			continue;
		ret = report_folder(&folder, found, data);
		fsync_folder_close(&folder);
	}
	return ret < 0 ? ret : -errno;
}
