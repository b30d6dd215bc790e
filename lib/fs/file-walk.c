// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/cleanup.h"
#include "base/filesystem-type.h"
#include "base/open-beneath.h"
#include "base/trusted-directory.h"
#include "fs/file-walk.h"

struct file_place {
	unsigned int holders;
	int fd;
	/* of a directory, which owns FD then */
	DIR *stream;
	/* a directory that nobody but root and the caller can change */
	bool is_trusted;
};

/* A directory that is being read. */
struct level {
	struct file_place *directory;
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
	/* the subvolume of the directory that was named */
	dev_t device;
	/* the file that was named last, or NULL */
	struct file_place *named;
	/* from open_own_descriptors() */
	int own_descriptors;
};

/* Takes FD over, also on failure. Returns NULL without memory. */
static struct file_place *place_new(int fd)
{
	struct file_place *place = malloc(sizeof(*place));

	if (!place) {
		close(fd);
		return NULL;
	}
	*place = (struct file_place){ .holders = 1, .fd = fd };
	return place;
}

static void place_release(struct file_place *place)
{
	if (!place || --place->holders)
		return;
	if (place->stream)
		closedir(place->stream);
	else
		close(place->fd);
	free(place);
}

static void close_list(FILE *list)
{
	if (list && list != stdin)
		fclose(list);
}

int file_walk_new(struct file_walk **ret_walk, const struct file_walk_options *options)
{
	struct file_walk *walk = calloc(1, sizeof(*walk));

	if (!walk) {
		close_list(options->list);
		return -ENOMEM;
	}
	walk->options = *options;
	walk->own_descriptors = open_own_descriptors();

	*ret_walk = walk;
	return 0;
}

static void leave_directory(struct file_walk *walk)
{
	walk->depth--;
	place_release(walk->levels[walk->depth].directory);
}

void file_walk_free(struct file_walk *walk)
{
	if (!walk)
		return;
	while (walk->depth)
		leave_directory(walk);
	place_release(walk->named);
	close_fd(&walk->own_descriptors);
	close_list(walk->options.list);
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

/* Starts to read the directory FD, which it takes over, of STATUS, that the walk's path is of. */
static int push_level(struct file_walk *walk, int fd, const struct stat *status)
{
	struct file_place *directory = place_new(fd);
	struct level *levels = reallocarray(walk->levels, walk->depth + 1, sizeof(*levels));

	if (levels)
		walk->levels = levels;
	if (levels && directory)
		directory->stream = fdopendir(fd);
	if (!levels || !directory || !directory->stream) {
		place_release(directory);
		return -ENOMEM;
	}

	directory->is_trusted = directory_is_trusted(status);
	levels[walk->depth++] = (struct level){ directory, strlen(walk->path) };
	return walk->options.entered ? walk->options.entered(walk->options.data, fd, status) : 0;
}

/*
 * btrfs adds the subvolume's id to f_fsid, and the upper half of the id is 0: so the first half of
 * f_fsid is that of the file system, of whichever subvolume.
 */
static bool is_same_filesystem(int fd, int other_fd)
{
	struct statfs one, other;

	if (fstatfs(fd, &one) || fstatfs(other_fd, &other))
		return false;
	return filesystem_has_type(&one, BTRFS_SUPER_MAGIC) &&
	       filesystem_has_type(&other, BTRFS_SUPER_MAGIC) &&
	       memcmp(&one.f_fsid, &other.f_fsid, sizeof(one.f_fsid) / 2) == 0;
}

/* Starts to read the directory FD, opened with O_PATH, of STATUS. */
static int enter_by_descriptor(struct file_walk *walk, int path_fd, const struct stat *status)
{
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : push_level(walk, fd, status);
}

/*
 * The sandbox of a service mounts directories on themselves, which hides nothing. No other mount is
 * entered; but one of the same file system may have files that the caller expects in the report.
 */
static int enter_mount_point(struct file_walk *walk, int parent, const struct dirent *entry)
{
	CLEANUP_CLOSE int fd = openat(parent, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status, above;

	if (fd < 0 || !is_same_filesystem(parent, fd))
		return 0;
	if (fstat(fd, &status) || fstat(parent, &above))
		return -errno;
	if (status.st_dev == above.st_dev && status.st_ino == entry->d_ino)
		return enter_by_descriptor(walk, fd, &status);
	return walk->options.one_subvolume && status.st_dev != walk->device ? 0 : -EXDEV;
}

/* Starts to read the directory of ENTRY, which was found in PARENT. */
static int enter_found(struct file_walk *walk, int parent, const struct dirent *entry)
{
	int fd = open_beneath(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	int ret = 0;

	if (fd == -EXDEV)
		return enter_mount_point(walk, parent, entry);
	/* It was a directory a moment ago. */
	if (fd == -ENOTDIR || fd == -ELOOP)
		return -ENOENT;
	if (fd < 0)
		return fd;
	if (fstat(fd, &status))
		ret = -errno;
	else if (!walk->options.one_subvolume || status.st_dev == walk->device)
		return push_level(walk, fd, &status);
	close(fd);
	return ret;
}

static int check_filesystem(int fd)
{
	struct statfs filesystem;

	if (fstatfs(fd, &filesystem))
		return -errno;
	return filesystem_has_type(&filesystem, BTRFS_SUPER_MAGIC) ? 0 : -ENOTTY;
}

/* Starts to read the directory PATH, which was named; -ENOTDIR if it is none. */
static int enter_named(struct file_walk *walk, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	int ret;

	if (fd < 0)
		return -errno;
	ret = check_filesystem(fd);
	if (ret == 0 && fstat(fd, &status))
		ret = -errno;
	if (ret == 0)
		ret = set_path(walk, 0, path);
	if (ret == 0) {
		walk->device = status.st_dev;
		return push_level(walk, fd, &status);
	}
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
	struct file_place *directory = level->directory;
	struct dirent *entry;
	mode_t type;
	int ret;

	errno = 0;
	entry = readdir(directory->stream);
	if (!entry) {
		int error = -errno;

		walk->path[level->path_length] = '\0';
		*ret_file = (struct found_file){ .path = walk->path, .error = error };
		leave_directory(walk);
		return error ? 1 : 0;
	}
	if (is_dot(entry->d_name))
		return 0;
	type = type_of(directory->fd, entry);
	if (type != S_IFREG && type != S_IFDIR)
		return 0;

	ret = set_path(walk, level->path_length, entry->d_name);
	if (ret < 0)
		return ret;
	*ret_file = (struct found_file){
		.path = walk->path,
		.type = type,
		.place = directory,
		.name_offset = strlen(walk->path) - strlen(entry->d_name),
	};
	if (type == S_IFREG)
		return 1;

	ret_file->error = enter_found(walk, directory->fd, entry);
	return ret_file->error ? 1 : 0;
}

/* Looks at a path that was named. Returns 0, or the negative errno that speaks against it. */
static int look_at(struct file_walk *walk, struct found_file *file)
{
	int fd = open(file->path, O_PATH | O_CLOEXEC);
	struct stat status;
	int ret;

	if (fd < 0)
		return -errno;
	walk->named = place_new(fd);
	if (!walk->named)
		return -ENOMEM;
	if (fstat(fd, &status))
		return -errno;
	ret = check_filesystem(fd);
	if (ret < 0)
		return ret;

	file->type = status.st_mode & S_IFMT;
	file->place = walk->named;
	return 0;
}

/* Returns 1 with a file or an error, 0 where a directory of that path is to be read. */
static int visit_named(struct file_walk *walk, const char *path, struct found_file *ret_file)
{
	*ret_file = (struct found_file){ .path = path, .named = true };
	if (walk->options.recursive) {
		ret_file->error = enter_named(walk, path);
		if (ret_file->error != -ENOTDIR)
			return ret_file->error ? 1 : 0;
	}
	ret_file->error = look_at(walk, ret_file);
	return 1;
}

int file_walk_next(struct file_walk *walk, struct found_file *ret_file)
{
	place_release(walk->named);
	walk->named = NULL;
	for (;;) {
		const char *path = NULL;
		int ret;

		while (walk->depth) {
			ret = next_entry(walk, ret_file);
			if (ret)
				return ret;
		}

		ret = next_named(walk, &path);
		if (ret <= 0)
			return ret;
		if (visit_named(walk, path, ret_file))
			return 1;
	}
}

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Returns a descriptor, or a negative errno where a closer look is needed to tell why. */
static int open_trusted(const struct found_file *file, struct stat *ret_status)
{
	int fd = open_beneath_at_once(file->place->fd, file->path + file->name_offset, READ_FLAGS);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_status) == 0 && S_ISREG(ret_status->st_mode))
		return fd;
	close(fd);
	return -ENOENT;
}

/* By its name: what else has that name by now is told by its inode. */
static int open_by_name(const struct found_file *file, const struct stat *status)
{
	struct stat opened;
	int fd;

	if (file->named)
		fd = open(file->path, READ_FLAGS);
	else
		fd = open_beneath(file->place->fd, file->path + file->name_offset, READ_FLAGS);
	if (fd < 0)
		return file->named ? -errno : fd;
	if (fstat(fd, &opened) == 0 && opened.st_dev == status->st_dev &&
	    opened.st_ino == status->st_ino)
		return fd;
	close(fd);
	return -ENOENT;
}

/*
 * A name can be exchanged between a look at it and the open, and to open a device or a FIFO has
 * effects at once. So an O_PATH descriptor, which has none, is looked at and opened by its link in
 * /proc/self/fd; without /proc by its name again, which only makes that moment short.
 */
static int open_in_two_steps(const struct file_walk *walk, const struct found_file *file,
			     struct stat *ret_status)
{
	CLEANUP_CLOSE int found = -1;
	int path_fd = file->place->fd;
	struct stat status;
	int fd;

	if (!file->named)
		path_fd = found = open_beneath(path_fd, file->path + file->name_offset,
					       O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOENT;

	if (walk->own_descriptors >= 0)
		fd = reopen_for_reading(walk->own_descriptors, path_fd);
	else
		fd = open_by_name(file, &status);
	if (fd >= 0)
		*ret_status = status;
	return fd;
}

static int open_found(const struct file_walk *walk, const struct found_file *file,
		      struct stat *ret_status)
{
	struct stat status;
	int fd = -ENOENT;

	/*
	 * It was a regular file when its directory was read, which btrfs ascertains by the inode
	 * where there is openat2(), and nobody who means ill can exchange it.
	 */
	if (file->place->is_trusted)
		fd = open_trusted(file, &status);
	if (fd < 0)
		return open_in_two_steps(walk, file, ret_status);
	*ret_status = status;
	return fd;
}

/* Whether the mount on FILE, which was found, is of the same file system. */
static bool hides_own_file(const struct found_file *file)
{
	const int directory = file->place->fd;
	CLEANUP_CLOSE int fd = openat(directory, file->path + file->name_offset,
				      O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && is_same_filesystem(directory, fd);
}

int file_walk_open(const struct file_walk *walk, const struct found_file *file,
		   struct stat *ret_status)
{
	int fd = open_found(walk, file, ret_status);

	return fd == -EXDEV && !file->named && !hides_own_file(file) ? -ENODEV : fd;
}

/* Whether NAME in DIRECTORY is a name of the inode of STATUS, and nothing is mounted there. */
static bool is_name_of(int directory, const char *name, const struct stat *status)
{
	CLEANUP_CLOSE int fd = open_beneath(directory, name, O_PATH | O_CLOEXEC);
	struct stat found;

	return fd >= 0 && fstat(fd, &found) == 0 && found.st_dev == status->st_dev &&
	       found.st_ino == status->st_ino;
}

/*
 * Of a path that was named, with all links on the way to it followed. The path was looked up
 * before, and what it leads to can have changed.
 */
static int open_parent_of_named(const char *path, const struct stat *status, char **ret_name)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	char *slash = real ? strrchr(real, '/') : NULL;
	CLEANUP_FREE char *name = NULL;
	int directory;

	if (!real)
		return -errno;
	name = strdup(slash + 1);
	if (!name)
		return -ENOMEM;
	slash[slash == real] = '\0';
	directory = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	if (!is_name_of(directory, name, status)) {
		close(directory);
		return -ENOENT;
	}

	*ret_name = name;
	name = NULL;
	return directory;
}

static int parent_of_named(const char *path, const struct stat *status, ino_t *ret_parent,
			   char **ret_name)
{
	CLEANUP_FREE char *name = NULL;
	CLEANUP_CLOSE int directory = open_parent_of_named(path, status, &name);
	struct stat parent;

	if (directory < 0)
		return directory;
	if (fstat(directory, &parent))
		return -errno;

	*ret_parent = parent.st_ino;
	*ret_name = name;
	name = NULL;
	return 0;
}

int found_file_parent(const struct found_file *file, const struct stat *file_status,
		      ino_t *ret_parent, char **ret_name)
{
	struct stat status;
	char *name;

	if (file->named)
		return parent_of_named(file->path, file_status, ret_parent, ret_name);
	if (fstat(file->place->fd, &status))
		return -errno;
	name = strdup(file->path + file->name_offset);
	if (!name)
		return -ENOMEM;

	*ret_parent = status.st_ino;
	*ret_name = name;
	return 0;
}

int found_file_keep(const struct found_file *file, struct found_file *ret_kept)
{
	char *path = strdup(file->path);

	if (!path)
		return -ENOMEM;
	if (file->place)
		file->place->holders++;

	*ret_kept = *file;
	ret_kept->path = path;
	return 0;
}

void found_file_drop(struct found_file *kept)
{
	place_release(kept->place);
	free((char *)kept->path);
}
