// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs while a program creates folders in a directory of this user: replaces what appears there,
 * again and again, until SIGTERM. Prints how many names it saw.
 *
 *   replace-folders DIR link TARGET   by symbolic links to TARGET, back, and by links again
 *   replace-folders DIR trap          by DIR/trap, once, with an image and a mount point in it. When
 *                                     the image has a file system, DIR/planted takes its place;
 *                                     when that is mounted, DIR/elsewhere that of the mount point
 */
#include "config.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fs.h>

#define PREFIX "btrfs-fastpath-"
#define NAME_SIZE 64
#define PAIRS 256
#define MAGIC "_BHRfS_M"
#define MAGIC_OFFSET (65536 + 64)
#define SUBVOLUME_INODE 256
#define MILLISECOND 1000

/* A name that was seen, and the one that it is exchanged with. */
struct pair {
	char seen[NAME_SIZE];
	char other[NAME_SIZE];
};

struct opponent {
	int directory_fd;
	/* NULL: the trap */
	const char *target;
	struct pair pairs[PAIRS];
	unsigned int count;
};

static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static void exchange(const struct opponent *opponent, const char *a, const char *b)
{
	syscall(SYS_renameat2, opponent->directory_fd, a, opponent->directory_fd, b,
		RENAME_EXCHANGE);
}

static bool is_known(const struct opponent *opponent, const char *name)
{
	for (unsigned int i = 0; i < opponent->count; i++)
		if (strcmp(opponent->pairs[i].seen, name) == 0)
			return true;
	return false;
}

static bool is_trap_set(void)
{
	struct stat status;

	return stat("trap", &status) == 0 && status.st_uid == geteuid();
}

static bool has_filesystem(const char *path)
{
	char magic[sizeof(MAGIC) - 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (pread(fd, magic, sizeof(magic), MAGIC_OFFSET) < 0)
		magic[0] = 0;
	close(fd);
	return memcmp(magic, MAGIC, sizeof(magic)) == 0;
}

static bool is_looped(const char *path)
{
	char backing[4096];
	bool found = false;
	glob_t files;

	if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &files))
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++) {
		FILE *file = fopen(files.gl_pathv[i], "r");

		found = file && fgets(backing, sizeof(backing), file) && strstr(backing, path);
		if (file)
			fclose(file);
	}
	globfree(&files);
	return found;
}

/* What root made is in use by now, and formatted, mounted and unmounted by its path. */
static void spring_trap(const struct opponent *opponent, const char *name)
{
	char image[NAME_SIZE + 8], mount_point[NAME_SIZE + 8];

	snprintf(image, sizeof(image), "%s/image", name);
	snprintf(mount_point, sizeof(mount_point), "%s/mnt", name);
	usleep(2 * MILLISECOND);
	exchange(opponent, name, "trap");
	while (!ended && !has_filesystem(image))
		usleep(MILLISECOND);
	/* mkfs.btrfs writes its last block and ends. */
	usleep(5 * MILLISECOND);
	rename("planted", image);
	while (!ended && !is_looped(image))
		usleep(MILLISECOND);
	usleep(20 * MILLISECOND);
	rename("elsewhere", mount_point);
}

static void replace(struct opponent *opponent, const char *name)
{
	struct pair *pair = &opponent->pairs[opponent->count];
	struct stat status;

	if (opponent->count == PAIRS || strlen(name) >= NAME_SIZE || is_known(opponent, name))
		return;
	opponent->count++;
	strcpy(pair->seen, name);
	snprintf(pair->other, sizeof(pair->other), "other-%u", opponent->count);
	if (opponent->target) {
		if (symlinkat(opponent->target, opponent->directory_fd, pair->other) == 0)
			exchange(opponent, name, pair->other);
	} else if (is_trap_set() && lstat(name, &status) == 0 && status.st_ino != SUBVOLUME_INODE &&
		   strstr(name, "status.")) {
		spring_trap(opponent, name);
	}
}

static void look_once(struct opponent *opponent, DIR *entries)
{
	const struct dirent *entry;

	rewinddir(entries);
	while ((entry = readdir(entries)))
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			replace(opponent, entry->d_name);
	if (opponent->target && opponent->count && random() % 4 == 0) {
		const struct pair *pair = &opponent->pairs[random() % opponent->count];

		exchange(opponent, pair->seen, pair->other);
	}
}

/* Wakes up at the moment that something appears, and now and then. */
static void wait_for_change(int watch_fd)
{
	struct pollfd file = { .fd = watch_fd, .events = POLLIN };
	char events[4096];

	if (poll(&file, 1, 1) > 0 && read(watch_fd, events, sizeof(events)) < 0)
		err(2, "inotify");
}

int main(int argc, char **argv)
{
	struct opponent opponent = { .target = argc == 4 ? argv[3] : NULL };
	DIR *entries;
	int watch_fd;

	if (argc < 3)
		errx(2, "wrong arguments");
	signal(SIGTERM, end);
	if (chdir(argv[1]) < 0)
		err(2, "%s", argv[1]);
	entries = opendir(".");
	if (!entries)
		err(2, "%s", argv[1]);
	opponent.directory_fd = dirfd(entries);
	watch_fd = inotify_init1(IN_CLOEXEC);
	if (watch_fd < 0 || inotify_add_watch(watch_fd, ".", IN_CREATE) < 0)
		err(2, "inotify");
	while (!ended) {
		look_once(&opponent, entries);
		wait_for_change(watch_fd);
	}
	printf("%u\n", opponent.count);
	close(watch_fd);
	closedir(entries);
	return 0;
}
