// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fs.h>

#include "path/new-file.h"
#include "path/open-beneath.h"
#include "path/parent-directory.h"
#include "sys/cleanup.h"

/* Of 2^32 names the next one is free. */
#define ATTEMPTS 16
#define NO_FILE ((struct new_file){ .directory_fd = -1, .own_descriptors = -1, .fd = -1 })

/* -- the file -- */

/* A device or a FIFO is somebody's, and not to be replaced. */
static int check_replaceable(const struct stat *status)
{
	if (S_ISDIR(status->st_mode))
		return -EISDIR;
	return S_ISREG(status->st_mode) || S_ISLNK(status->st_mode) ? 0 : -EEXIST;
}

static int check_name(const struct new_file *file)
{
	struct stat status;

	if (fstatat(file->directory_fd, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		return file->replaces ? check_replaceable(&status) : -EEXIST;
	return errno == ENOENT ? 0 : -errno;
}

/* What is replaced again and again is read by a service, and written by nobody else. */
static mode_t mode_of(const struct new_file *file)
{
	return file->replaces ? 0644 : 0666;
}

/* Returns a descriptor or a negative errno. */
static int create_with_a_name(struct new_file *file)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int ret = random_name(file->temporary, sizeof(file->temporary), NEW_FILE_PREFIX);
		int fd;

		if (ret < 0)
			return ret;
		fd = openat(file->directory_fd, file->temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_of(file));
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Returns a descriptor or a negative errno. */
static int create(struct new_file *file)
{
	int fd;

	/* By these it gets its name in the end. */
	file->own_descriptors = open_own_descriptors();
	if (file->own_descriptors < 0)
		return create_with_a_name(file);
	fd = openat(file->directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode_of(file));
	if (fd >= 0)
		return fd;
	return errno == EOPNOTSUPP || errno == EISDIR ? create_with_a_name(file) : -errno;
}

static void remove_unfinished(const struct new_file *file)
{
	if (*file->temporary)
		unlinkat(file->directory_fd, file->temporary, 0);
}

/* With a descriptor of its own, so that leftovers can be reported after it is closed. */
static int open_stream(struct new_file *file)
{
	int fd;

	file->fd = create(file);
	if (file->fd < 0)
		return file->fd;
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	file->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (file->stream)
		return 0;
	close_fd(&fd);
	remove_unfinished(file);
	return -ENOMEM;
}

static void new_file_free(struct new_file *file)
{
	close_fd(&file->directory_fd);
	close_fd(&file->own_descriptors);
	close_fd(&file->fd);
	free(file->name);
	*file = NO_FILE;
}

static int open_file(const char *path, bool replaces, struct new_file *ret_file)
{
	const char *name = path_last_component(path);
	struct new_file file = NO_FILE;
	int ret;

	if (!*path)
		return -ENOENT;
	if (!*name || is_dot_dotdot(name))
		return -EISDIR;
	file.replaces = replaces;
	file.name = strdup(name);
	file.directory_fd = file.name ? parent_directory_open(path) : -ENOMEM;
	ret = file.directory_fd < 0 ? file.directory_fd : check_name(&file);
	if (ret == 0)
		ret = open_stream(&file);
	if (ret < 0) {
		new_file_free(&file);
		return ret;
	}
	*ret_file = file;
	return 0;
}

int new_file_open(const char *path, struct new_file *ret_file)
{
	return open_file(path, false, ret_file);
}

int new_file_open_to_replace(const char *path, struct new_file *ret_file)
{
	return open_file(path, true, ret_file);
}

/* The file that has none yet. */
static int give_first_name(const struct new_file *file, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", file->fd);
	if (linkat(file->own_descriptors, number, file->directory_fd, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return 0;
}

/* Only a name can be replaced. What is killed between this and the rename leaves it. */
static int give_temporary_name(struct new_file *file)
{
	char name[sizeof(file->temporary)];
	int ret = -EEXIST;

	for (int i = 0; i < ATTEMPTS && ret == -EEXIST; i++) {
		ret = random_name(name, sizeof(name), NEW_FILE_PREFIX);
		if (ret == 0)
			ret = give_first_name(file, name);
	}
	if (ret == 0)
		strcpy(file->temporary, name);
	return ret;
}

/* On disk first: after a power cut the name must not be that of an empty file. */
static int replace_name(struct new_file *file)
{
	int ret = fsync(file->fd) < 0 ? -errno : 0;

	if (ret == 0 && !*file->temporary)
		ret = give_temporary_name(file);
	if (ret < 0)
		return ret;
	if (renameat(file->directory_fd, file->temporary, file->directory_fd, file->name) < 0)
		return -errno;
	return 0;
}

/* Where a file system does not know the flag, a second name does the same. */
static int change_name(const struct new_file *file)
{
	const int fd = file->directory_fd;

	/* Not every C library has a function for it. */
	if (syscall(SYS_renameat2, fd, file->temporary, fd, file->name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(fd, file->temporary, fd, file->name, 0) < 0)
		return -errno;
	unlinkat(fd, file->temporary, 0);
	return 0;
}

static int give_name(struct new_file *file)
{
	if (file->replaces)
		return replace_name(file);
	return *file->temporary ? change_name(file) : give_first_name(file, file->name);
}

/* Somebody can have moved it away. */
static void find_left(const struct new_file *file, struct descriptor_place *ret_left)
{
	struct stat status;

	if (fstat(file->fd, &status) == 0 && status.st_nlink)
		descriptor_place_of(file->fd, ret_left);
}

/* A write that failed before the last one has left only a mark. */
static int close_stream(FILE *stream)
{
	bool has_failed = ferror(stream);

	if (fclose(stream))
		return -errno;
	return has_failed ? -EIO : 0;
}

int new_file_finish(struct new_file *file, struct descriptor_place *ret_left)
{
	int ret = file->error;

	*ret_left = (struct descriptor_place){ 0 };
	if (ret == 0)
		ret = close_stream(file->stream);
	else
		fclose(file->stream);
	if (ret == 0)
		ret = give_name(file);
	if (ret < 0) {
		remove_unfinished(file);
		find_left(file, ret_left);
	}
	new_file_free(file);
	return ret;
}
