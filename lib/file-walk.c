// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "file-walk.h"

/* A directory that is being read. */
struct level {
	DIR *stream;
	/* its own path's length within the walk's path */
	size_t path_length;
};

struct file_walk {
	struct file_walk_options options;
	size_t path_index;
	char *list_name;
	size_t list_name_size;
	/* the directories from the one that was named down to the current one */
	struct level *levels;
	size_t depth;
	/* the path of what was found last */
	char *path;
	size_t path_size;
	/* where the named directory is */
	uint64_t mount;
	uint64_t device;
};

int file_walk_new(struct file_walk **ret_walk, const struct file_walk_options *options)
{
	struct file_walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	walk->options = *options;

	*ret_walk = walk;
	return 0;
}

static void leave_directory(struct file_walk *walk)
{
	walk->depth--;
	closedir(walk->levels[walk->depth].stream);
}

void file_walk_free(struct file_walk *walk)
{
	if (!walk)
		return;
	while (walk->depth)
		leave_directory(walk);
	free(walk->levels);
	free(walk->path);
	free(walk->list_name);
	free(walk);
}

void file_walk_freep(struct file_walk **walk)
{
	file_walk_free(*walk);
}

/* Returns 1 with the next name given by the caller, 0 after the last, or a negative errno. */
static int next_named(struct file_walk *walk, const char **ret_path)
{
	if (!walk->options.list) {
		*ret_path = walk->options.paths[walk->path_index];
		if (!*ret_path)
			return 0;
		walk->path_index++;
		return 1;
	}

	errno = 0;
	if (getdelim(&walk->list_name, &walk->list_name_size, '\0', walk->options.list) < 0)
		return feof(walk->options.list) ? 0 : errno ? -errno : -EIO;
	*ret_path = walk->list_name;
	return 1;
}

/* Makes NAME, below the first LENGTH bytes of the path, the walk's path. */
static int set_path(struct file_walk *walk, size_t length, const char *name)
{
	bool needs_slash = length && walk->path[length - 1] != '/';
	size_t size = length + needs_slash + strlen(name) + 1;

	if (size > walk->path_size) {
		char *path = realloc(walk->path, 2 * size);

		if (!path)
			return -ENOMEM;
		walk->path = path;
		walk->path_size = 2 * size;
	}
	if (needs_slash)
		walk->path[length++] = '/';
	strcpy(walk->path + length, name);
	return 0;
}

/* Whether the walk goes into the directory FD. Returns 1, 0 if not, or a negative errno. */
static int belongs_to_walk(struct file_walk *walk, int fd)
{
	uint64_t mount, device;
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status))
		return -errno;
	device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
	/* Before Linux 5.8 there is no mount id; the device must do. */
	mount = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : device;

	if (!walk->depth) {
		walk->mount = mount;
		walk->device = device;
	}
	return mount == walk->mount && (!walk->options.one_subvolume || device == walk->device);
}

/* Takes FD over. */
static int push_level(struct file_walk *walk, int fd)
{
	struct level *levels = reallocarray(walk->levels, walk->depth + 1, sizeof(*levels));
	DIR *stream = levels ? fdopendir(fd) : NULL;

	if (levels)
		walk->levels = levels;
	if (!stream) {
		close(fd);
		return -ENOMEM;
	}

	levels[walk->depth++] = (struct level){ stream, strlen(walk->path) };
	return 0;
}

/* Starts to read the directory NAME, in PARENT, that the walk's path says. */
static int enter_directory(struct file_walk *walk, int parent, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (walk->depth ? O_NOFOLLOW : 0);
	int fd = openat(parent, name, flags);
	int ret;

	if (fd < 0)
		return -errno;
	ret = belongs_to_walk(walk, fd);
	if (ret > 0)
		return push_level(walk, fd);
	close(fd);
	return ret;
}

static mode_t type_of(int directory, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type != DT_UNKNOWN)
		return DTTOIF(entry->d_type);
	if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	return status.st_mode & S_IFMT;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Reads on in the current directory. Returns 1 with a file or an error, 0 if there was neither. */
static int next_entry(struct file_walk *walk, struct found_file *ret_file)
{
	struct level *level = &walk->levels[walk->depth - 1];
	int directory = dirfd(level->stream);
	struct dirent *entry;
	mode_t type;
	int ret;

	errno = 0;
	entry = readdir(level->stream);
	if (!entry) {
		int error = -errno;

		walk->path[level->path_length] = '\0';
		*ret_file = (struct found_file){ .path = walk->path, .error = error };
		leave_directory(walk);
		return error ? 1 : 0;
	}
	if (is_dot(entry->d_name))
		return 0;
	type = type_of(directory, entry);
	if (type != S_IFREG && type != S_IFDIR)
		return 0;

	ret = set_path(walk, level->path_length, entry->d_name);
	if (ret < 0)
		return ret;
	*ret_file = (struct found_file){ .path = walk->path, .type = type };
	if (type == S_IFREG)
		return 1;

	ret_file->error = enter_directory(walk, directory, entry->d_name);
	return ret_file->error ? 1 : 0;
}

/* Looks at a path that was named. Returns 0, or the negative errno that speaks against it. */
static int look_at(const char *path, mode_t *ret_type)
{
	struct statfs filesystem;
	struct stat status;

	if (stat(path, &status) || statfs(path, &filesystem))
		return -errno;
	if (filesystem.f_type != BTRFS_SUPER_MAGIC)
		return -ENOTTY;

	*ret_type = status.st_mode & S_IFMT;
	return 0;
}

int file_walk_next(struct file_walk *walk, struct found_file *ret_file)
{
	for (;;) {
		struct found_file file = { .named = true };
		int ret;

		while (walk->depth) {
			ret = next_entry(walk, ret_file);
			if (ret)
				return ret;
		}

		ret = next_named(walk, &file.path);
		if (ret <= 0)
			return ret;
		file.error = look_at(file.path, &file.type);
		if (!file.error && file.type == S_IFDIR && walk->options.recursive) {
			ret = set_path(walk, 0, file.path);
			if (ret < 0)
				return ret;
			file.error = enter_directory(walk, AT_FDCWD, file.path);
			if (!file.error)
				continue;
		}
		*ret_file = file;
		return 1;
	}
}
