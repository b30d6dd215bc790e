// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "fs/file-walk.h"
#include "fs/subvolume.h"
#include "fs/walk-readahead.h"
#include "path/inode-identity.h"
#include "path/open-beneath.h"
#include "path/trusted-file.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

struct file_place {
	unsigned int holders;
	int fd;
	/* of a directory, which owns FD then */
	DIR *stream;
	dev_t device;
	ino_t inode;
	/* a directory that nobody but root and the caller can change */
	bool is_trusted;
};

/* A directory that is being read. */
struct level {
	struct path_node *path;
	/* NULL while it is closed */
	struct file_place *directory;
	/* NULL if nothing is read ahead */
	struct readahead_directory *ahead;
	/* of telldir(), for a closed one */
	long position;
	dev_t device;
	ino_t inode;
};

/* A file that is found once more at the end. */
struct deferred_file {
	struct found_file file;
	/* when the kernel has ended the lease */
	uint64_t deadline_ns;
};

struct file_walk {
	struct file_walk_options options;
	size_t path_index;
	char *list_name;
	size_t list_name_size;
	/*
	 * The directories from the one that was named, which is always open, down to the current one.
	 * Of the others only the last ones are open, at most OPEN_LEVELS.
	 */
	struct level *levels;
	size_t depth;
	size_t room;
	size_t open_levels;
	/* NULL until the first directory, and without the option */
	struct walk_readahead *readahead;
	/* the subvolume of the directory that was named */
	dev_t device;
	/* the file that was named last, or NULL */
	struct file_place *named;
	/* the directory of the last error, or NULL */
	struct path_node *failed;
	/* from open_own_descriptors() */
	int own_descriptors;
	/* the first DEFERRED_DONE were found once more */
	struct deferred_file *deferred;
	size_t deferred_count;
	size_t deferred_done;
	/* how many directories they keep open, and how many they may */
	size_t deferred_places;
	size_t deferred_places_max;
	bool can_set_atimes;
};

#define OPEN_LEVELS_MAX 32
#define DEFERRED_MAX 16384
#define DEFERRED_PLACES_MAX 1024
/* All paths that are kept together, those of other parts of the program included */
#define DEFERRED_PATHS_SIZE_MAX (64 << 20)

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

/* An eighth of the descriptors that the process can have, from 2 to MOST. */
static size_t share_of_descriptors(size_t most)
{
	struct rlimit limit;
	size_t share;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return most;
	share = limit.rlim_cur / 8;
	if (share < 2)
		return 2;
	return share < most ? share : most;
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
	walk->open_levels = share_of_descriptors(OPEN_LEVELS_MAX);
	walk->deferred_places_max = share_of_descriptors(DEFERRED_PLACES_MAX);

	*ret_walk = walk;
	return 0;
}

static void drop_level(struct file_walk *walk)
{
	struct level *level = &walk->levels[--walk->depth];

	readahead_directory_free(level->ahead);
	place_release(level->directory);
	path_node_release(level->path);
}

void file_walk_free(struct file_walk *walk)
{
	if (!walk)
		return;
	while (walk->depth)
		drop_level(walk);
	walk_readahead_free(walk->readahead);
	while (walk->deferred_count)
		found_file_drop(&walk->deferred[--walk->deferred_count].file);
	place_release(walk->named);
	path_node_release(walk->failed);
	close_fd(&walk->own_descriptors);
	close_list(walk->options.list);
	free(walk->deferred);
	free(walk->levels);
	free(walk->list_name);
	free(walk);
}

/* Which one of the paths is being walked. */
static size_t current_argument(const struct file_walk *walk)
{
	return walk->path_index ? walk->path_index - 1 : 0;
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

/* -- the directories on the way -- */

static struct level *current_level(const struct file_walk *walk)
{
	return &walk->levels[walk->depth - 1];
}

/* Takes FD, of STATUS, over, also on failure. Returns NULL if there is no memory. */
static struct file_place *directory_place_new(int fd, const struct stat *status)
{
	struct file_place *place = place_new(fd);

	if (!place)
		return NULL;
	place->stream = fdopendir(fd);
	if (!place->stream) {
		place_release(place);
		return NULL;
	}
	place->device = status->st_dev;
	place->inode = status->st_ino;
	place->is_trusted = directory_is_trusted(status);
	fcntl(fd, F_SETFL, O_NOATIME);
	return place;
}

/*
 * Whether reading the directory FD can set its atime, which changes the tree that the caller examines: only
 * an owner or root can avoid it.
 */
static bool can_set_atime(int fd)
{
	struct statvfs filesystem;

	return !(fcntl(fd, F_GETFL) & O_NOATIME) && fstatvfs(fd, &filesystem) == 0 &&
	       !(filesystem.f_flag & (ST_RDONLY | ST_NOATIME | ST_NODIRATIME)) &&
	       subvolume_is_read_only(fd) <= 0;
}

static int make_room_for_level(struct file_walk *walk)
{
	size_t room = walk->room + walk->room / 4 + 16;
	struct level *levels;

	if (walk->depth < walk->room)
		return 0;
	levels = reallocarray(walk->levels, room, sizeof(*levels));
	if (!levels)
		return -ENOMEM;
	walk->levels = levels;
	walk->room = room;
	return 0;
}

static void close_distant_level(struct file_walk *walk)
{
	struct level *level;

	if (walk->depth < walk->open_levels + 2)
		return;
	level = &walk->levels[walk->depth - 1 - walk->open_levels];
	if (!level->directory)
		return;
	level->position = telldir(level->directory->stream);
	readahead_directory_free(level->ahead);
	level->ahead = NULL;
	place_release(level->directory);
	level->directory = NULL;
}

/*
 * Starts to read the directory FD, which it takes over, of STATUS: NAME in the current directory, or
 * the one that was named.
 */
static int push_level(struct file_walk *walk, const char *name, int fd, const struct stat *status)
{
	struct path_node *above = walk->depth ? current_level(walk)->path : NULL;
	struct file_place *directory = directory_place_new(fd, status);
	struct path_node *path = path_node_new(walk->options.store, above, name);

	if (!directory || !path || make_room_for_level(walk) < 0) {
		place_release(directory);
		path_node_release(path);
		return -ENOMEM;
	}

	walk->levels[walk->depth++] = (struct level){
		.path = path,
		.directory = directory,
		.ahead = readahead_directory_new(walk->readahead, fd,
						 walk->options.one_subvolume ? walk->device : 0,
						 !above),
		.device = status->st_dev,
		.inode = status->st_ino,
	};
	close_distant_level(walk);
	walk->can_set_atimes = walk->can_set_atimes || can_set_atime(fd);
	return walk->options.entered ? walk->options.entered(walk->options.data, fd, status,
							     current_argument(walk)) :
				       0;
}

/* Opens NAME in DIRECTORY, which must be that of LEVEL: else it returns -ESTALE. */
static int open_level(int directory, const char *name, const struct level *level, int flags,
		      struct stat *ret_status)
{
	int fd = openat(directory, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -ESTALE;
	if (fstat(fd, ret_status) == 0 && ret_status->st_dev == level->device &&
	    ret_status->st_ino == level->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Opens the closed LEVEL, which is NAME in DIRECTORY, and goes on where it was left. */
static int reopen_level(struct level *level, int directory, const char *name)
{
	struct stat status;
	int fd = open_level(directory, name, level, O_RDONLY, &status);

	if (fd < 0)
		return fd;
	level->directory = directory_place_new(fd, &status);
	if (!level->directory)
		return -ENOMEM;
	seekdir(level->directory->stream, level->position);
	return 0;
}

/* Opens the deepest directory that its name leads to, from the first one on. Returns its index. */
static size_t reopen_by_names(struct file_walk *walk, int *ret_error)
{
	CLEANUP_CLOSE int directory = openat(walk->levels->directory->fd, ".", O_PATH | O_CLOEXEC);
	size_t index = 0;

	*ret_error = directory < 0 ? -errno : 0;
	while (directory >= 0 && index + 1 < walk->depth) {
		const struct level *next = &walk->levels[index + 1];
		struct stat status;
		int fd = open_level(directory, path_node_name(next->path), next, O_PATH, &status);

		if (fd < 0) {
			*ret_error = fd;
			break;
		}
		close(directory);
		directory = fd;
		index++;
	}
	if (index && !walk->levels[index].directory) {
		int ret = reopen_level(&walk->levels[index], directory, ".");

		*ret_error = ret < 0 ? ret : *ret_error;
		index = ret < 0 ? 0 : index;
	}
	return index;
}

/* Leaves the current directory for the one above. Returns 0, or a negative errno of walk->failed. */
static int leave_directory(struct file_walk *walk)
{
	struct level *left = current_level(walk), *above;
	int ret = 0;

	if (walk->depth > 1 && !left[-1].directory)
		ret = reopen_level(left - 1, left->directory->fd, "..");
	drop_level(walk);
	if (ret == 0)
		return 0;
	/* LEFT was moved to elsewhere, unless there is no memory. */
	above = walk->levels + reopen_by_names(walk, &ret);
	if (above == current_level(walk))
		return 0;
	path_node_release(walk->failed);
	walk->failed = path_node_hold(above[1].path);
	while (current_level(walk) > above)
		drop_level(walk);
	return ret;
}

/* -- directories that were found -- */

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

/* Starts to read the directory NAME, opened with O_PATH as PATH_FD, of STATUS. */
static int enter_by_descriptor(struct file_walk *walk, const char *name, int path_fd,
			       const struct stat *status)
{
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : push_level(walk, name, fd, status);
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
		return enter_by_descriptor(walk, entry->d_name, fd, &status);
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
		return push_level(walk, entry->d_name, fd, &status);
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
	if (ret == 0) {
		walk->device = status.st_dev;
		if (walk->options.read_ahead)
			walk->readahead = walk_readahead_new();
		/* Not again for each path, if the threads cannot be started. */
		walk->options.read_ahead = false;
		return push_level(walk, path, fd, &status);
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

/* Returns 1 with the directory walk->failed, of ERROR, or 0 if there is none. */
static int report_failed(const struct file_walk *walk, int error, struct found_file *ret_file)
{
	if (!error)
		return 0;
	*ret_file = (struct found_file){
		.directory = path_node_directory(walk->failed),
		.name = path_node_name(walk->failed),
		.type = S_IFDIR,
		.error = error,
	};
	return 1;
}

/* The current directory ends, with the errno ERROR if that is not 0. Returns as report_failed(). */
static int end_directory(struct file_walk *walk, int error, struct found_file *ret_file)
{
	int ret;

	if (error) {
		path_node_release(walk->failed);
		walk->failed = path_node_hold(current_level(walk)->path);
	}
	ret = leave_directory(walk);
	return report_failed(walk, ret < 0 ? ret : error, ret_file);
}

/* Reads on in the current directory. Returns 1 with a file or an error, 0 if there was neither. */
static int next_entry(struct file_walk *walk, struct found_file *ret_file)
{
	struct level *level = current_level(walk);
	struct file_place *directory = level->directory;
	struct dirent *entry;
	mode_t type;

	errno = 0;
	entry = readdir(directory->stream);
	if (!entry)
		return end_directory(walk, -errno, ret_file);
	readahead_directory_advance(level->ahead);
	if (is_dot_dotdot(entry->d_name))
		return 0;
	type = type_of(directory->fd, entry);
	if (type != S_IFREG && type != S_IFDIR)
		return 0;

	*ret_file = (struct found_file){
		.directory = level->path,
		.name = entry->d_name,
		.type = type,
		.inode = entry->d_ino,
		.place = directory,
	};
	if (type == S_IFREG)
		return 1;

	ret_file->error = enter_found(walk, directory->fd, entry);
	return ret_file->error ? 1 : 0;
}

/* Looks at a path that was named. Returns 0, or the negative errno that speaks against it. */
static int look_at(struct file_walk *walk, struct found_file *file)
{
	int fd = open(file->name, O_PATH | O_CLOEXEC);
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
	*ret_file = (struct found_file){ .name = path, .named = true };
	if (walk->options.recursive) {
		ret_file->error = enter_named(walk, path);
		if (ret_file->error != -ENOTDIR)
			return ret_file->error ? 1 : 0;
	}
	ret_file->error = look_at(walk, ret_file);
	return 1;
}

/* -- files on which another process has a lease -- */

#define LEASE_BREAK_FILE "/proc/sys/fs/lease-break-time"
#define LEASE_BREAK_SECONDS 45
#define LEASE_BREAK_SECONDS_MAX 119
#define LEASE_POLL_NS (20 * NANOSECONDS_PER_MILLISECOND)

/* The lease is being broken from the first attempt to open the file on. */
static uint64_t lease_deadline(void)
{
	FILE *file = fopen(LEASE_BREAK_FILE, "re");
	unsigned int seconds = LEASE_BREAK_SECONDS;

	if (file) {
		if (fscanf(file, "%u", &seconds) != 1 || seconds > LEASE_BREAK_SECONDS_MAX)
			seconds = LEASE_BREAK_SECONDS_MAX;
		fclose(file);
	}
	return monotonic_ns() + (seconds + 1) * NANOSECONDS_PER_SECOND;
}

static bool can_defer(const struct file_walk *walk, const struct found_file *file,
		      bool in_new_place)
{
	if (!file->place || file->deferred || walk->deferred_count == DEFERRED_MAX)
		return false;
	if (file->directory && path_node_others_size(file->directory) > DEFERRED_PATHS_SIZE_MAX)
		return false;
	return !in_new_place || walk->deferred_places < walk->deferred_places_max;
}

bool file_walk_can_set_atimes(const struct file_walk *walk)
{
	return walk->can_set_atimes;
}

int file_walk_defer(struct file_walk *walk, const struct found_file *file)
{
	size_t count = walk->deferred_count;
	bool in_new_place = !count || walk->deferred[count - 1].file.place != file->place;
	struct deferred_file *deferred;
	int ret;

	if (!can_defer(walk, file, in_new_place))
		return -EAGAIN;
	deferred = reallocarray(walk->deferred, count + 1, sizeof(*deferred));
	if (!deferred)
		return -ENOMEM;
	walk->deferred = deferred;
	deferred += count;
	ret = found_file_keep(walk, file, &deferred->file);
	if (ret < 0)
		return ret;
	deferred->deadline_ns = lease_deadline();
	walk->deferred_count++;
	walk->deferred_places += in_new_place;
	return 0;
}

static void wait_for_lease(const struct file_walk *walk, const struct deferred_file *deferred)
{
	const struct timespec pause = { .tv_nsec = LEASE_POLL_NS };

	for (;;) {
		struct stat status;
		int fd = file_walk_open(walk, &deferred->file, &status);

		if (fd >= 0)
			close(fd);
		if (fd != -EAGAIN || monotonic_ns() >= deferred->deadline_ns)
			return;
		nanosleep(&pause, NULL);
	}
}

/* Returns 1 with a file, or 0 after the last one. */
static int next_deferred(struct file_walk *walk, struct found_file *ret_file)
{
	struct deferred_file *deferred;

	if (walk->deferred_done == walk->deferred_count)
		return 0;
	deferred = &walk->deferred[walk->deferred_done++];
	wait_for_lease(walk, deferred);
	*ret_file = deferred->file;
	ret_file->deferred = true;
	return 1;
}

/* -- the walk -- */

/* Returns 1, 0 after the last path, or a negative errno. */
static int next_of_paths(struct file_walk *walk, struct found_file *ret_file)
{
	for (;;) {
		const char *path = NULL;
		int ret;

		while (walk->depth)
			if (next_entry(walk, ret_file))
				return 1;

		ret = next_named(walk, &path);
		if (ret <= 0)
			return ret;
		if (visit_named(walk, path, ret_file))
			return 1;
	}
}

int file_walk_next(struct file_walk *walk, struct found_file *ret_file)
{
	int ret;

	place_release(walk->named);
	walk->named = NULL;
	ret = next_of_paths(walk, ret_file);
	if (ret > 0)
		ret_file->argument = current_argument(walk);
	return ret ? ret : next_deferred(walk, ret_file);
}

#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* Returns a descriptor, or a negative errno if the caller must find the reason. */
static int open_trusted(const struct found_file *file, struct stat *ret_status)
{
	int fd = open_beneath_at_once(file->place->fd, file->name, READ_FLAGS);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_status) == 0 && S_ISREG(ret_status->st_mode))
		return fd;
	close(fd);
	return -ENOENT;
}

/* By its name; the inode shows whether another file has that name by now. */
static int open_by_name(const struct found_file *file, const struct stat *status)
{
	struct stat opened;
	int fd;

	if (file->named)
		fd = open(file->name, READ_FLAGS);
	else
		fd = open_beneath(file->place->fd, file->name, READ_FLAGS);
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
		path_fd = found = open_beneath(path_fd, file->name, O_PATH | O_CLOEXEC);
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
	CLEANUP_CLOSE int fd = openat(directory, file->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && is_same_filesystem(directory, fd);
}

int file_walk_open(const struct file_walk *walk, const struct found_file *file,
		   struct stat *ret_status)
{
	int fd = open_found(walk, file, ret_status);

	return fd == -EXDEV && !file->named && !hides_own_file(file) ? -ENODEV : fd;
}

bool found_file_is_one_of(const struct found_file *file, const struct inode_set *files)
{
	const struct file_place *place = file->place;

	return file->inode && inode_set_contains(files, place->device, file->inode) &&
	       is_name_of_inode(place->fd, file->name, place->device, file->inode);
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
	char *name;

	if (file->named)
		return parent_of_named(file->name, file_status, ret_parent, ret_name);
	name = strdup(file->name);
	if (!name)
		return -ENOMEM;

	*ret_parent = file->place->inode;
	*ret_name = name;
	return 0;
}

int found_file_keep(const struct file_walk *walk, const struct found_file *file,
		    struct found_file *ret_kept)
{
	struct path_node *path = path_node_new(walk->options.store, file->directory, file->name);

	if (!path)
		return -ENOMEM;
	if (file->place)
		file->place->holders++;

	*ret_kept = *file;
	ret_kept->path = path;
	ret_kept->directory = path_node_directory(path);
	ret_kept->name = path_node_name(path);
	return 0;
}

void found_file_drop(struct found_file *kept)
{
	place_release(kept->place);
	path_node_release(kept->path);
}
