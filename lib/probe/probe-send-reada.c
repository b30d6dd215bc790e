// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <btrfsutil.h>

#include "fs/device-stats.h"
#include "fs/subvolume.h"
#include "path/temporary-file.h"
#include "probe/feature-probe.h"
#include "probe/probe-files.h"
#include "probe/probe-image.h"
#include "send/send-subvolume.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

#define SUBVOLUME "sent"
/*
 * The first file is in the first leaf, and so large that send is still at it after all that fits
 * into a pipe. The leaves behind are full of inline data.
 */
#define FIRST_FILE SUBVOLUME "/first"
#define FIRST_FILE_SIZE (4 << 20)
#define DIRECTORIES 20
#define FILES_A_DIRECTORY 50
#define FILE_SIZE 1500
/* Then the walk has come to the first file. */
#define SENT_SIZE (64 << 10)

/* What is looked at: no more leaves than are read ahead at once. */
#define NEAR_DIRECTORY 0
#define FAR_DIRECTORY 10

#define ROUNDS 3
#define WAIT_NS NANOSECONDS_PER_MILLISECOND
#define WAITS 1000

#define PATH_SIZE 64

/* -- what is sent -- */

static int make_file(int root_fd, const char *path, size_t size)
{
	CLEANUP_CLOSE int fd = openat(root_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CLEANUP_FREE char *data = calloc(1, size);

	if (fd < 0)
		return -errno;
	return data ? write_at(fd, data, size, 0) : -ENOMEM;
}

static void file_path(char path[PATH_SIZE], int directory, int file)
{
	snprintf(path, PATH_SIZE, SUBVOLUME "/%d/%d", directory, file);
}

static int make_directory(int root_fd, int directory)
{
	char path[PATH_SIZE];
	int ret = 0;

	snprintf(path, sizeof(path), SUBVOLUME "/%d", directory);
	if (mkdirat(root_fd, path, 0700) < 0)
		return -errno;
	for (int file = 0; file < FILES_A_DIRECTORY && ret == 0; file++) {
		file_path(path, directory, file);
		ret = make_file(root_fd, path, FILE_SIZE);
	}
	return ret;
}

static int make_read_only(int root_fd)
{
	CLEANUP_CLOSE int fd = openat(root_fd, SUBVOLUME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : subvolume_errno(btrfs_util_set_subvolume_read_only_fd(fd, true));
}

static int make_subvolume(int root_fd)
{
	int ret;

	ret = subvolume_errno(btrfs_util_create_subvolume_fd(root_fd, SUBVOLUME, 0, NULL, NULL));
	if (ret == 0)
		ret = make_file(root_fd, FIRST_FILE, FIRST_FILE_SIZE);
	for (int directory = 0; directory < DIRECTORIES && ret == 0; directory++)
		ret = make_directory(root_fd, directory);
	return ret < 0 ? ret : make_read_only(root_fd);
}

/* -- what is left to be read -- */

struct reading {
	int root_fd;
	struct interrupts *interrupts;
	uint8_t fsid[FSID_SIZE];
	uint64_t received;
	bool done;
	struct feature_cost cost;
};

/* When nothing is under way any more. */
static int read_bytes(struct reading *reading, uint64_t *ret_bytes)
{
	for (int i = 0; i < WAITS; i++) {
		struct device_stats stats;
		int ret;

		ret = device_stats_read(NULL, reading->fsid, &stats);
		if (ret < 0)
			return ret;
		if (!stats.in_flight) {
			*ret_bytes = stats.read_bytes;
			return 0;
		}
		if (interrupts_sleep(reading->interrupts, WAIT_NS))
			return -EINTR;
	}
	return -ETIMEDOUT;
}

/* Looking at an inode reads the leaf that it is in, which has the data of its neighbours. */
static int look_at_files(int root_fd, int directory)
{
	struct stat status;
	char path[PATH_SIZE];

	for (int file = 0; file < FILES_A_DIRECTORY; file++) {
		file_path(path, directory, file);
		if (fstatat(root_fd, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
	}
	return 0;
}

static int read_leaves(struct reading *reading, int directory, uint64_t *ret_bytes)
{
	uint64_t before, after;
	int ret;

	ret = read_bytes(reading, &before);
	if (ret == 0)
		ret = look_at_files(reading->root_fd, directory);
	if (ret == 0)
		ret = read_bytes(reading, &after);
	if (ret == 0)
		*ret_bytes = after - before;
	return ret;
}

/* Send waits for a reader of its stream meanwhile. */
static int count_at_first_file(void *data, const void *bytes, size_t size)
{
	struct reading *reading = data;
	int ret;

	(void)bytes;
	reading->received += size;
	if (reading->received < SENT_SIZE)
		return 0;
	ret = read_leaves(reading, NEAR_DIRECTORY, &reading->cost.cost);
	if (ret == 0)
		ret = read_leaves(reading, FAR_DIRECTORY, &reading->cost.reference);
	if (ret < 0)
		return ret;
	reading->done = true;
	return -ECANCELED;
}

/* Brings the first leaf and all data that is sent before the count into memory. */
static int read_first_file(int root_fd)
{
	CLEANUP_CLOSE int fd = openat(root_fd, FIRST_FILE, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : probe_read_all(fd);
}

static int send_and_count(const struct probe_image *image, struct interrupts *interrupts,
			  struct feature_cost *ret_cost)
{
	CLEANUP_CLOSE int fd = openat(image->root_fd, SUBVOLUME,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct send_request request = { .fd = fd, .protocol = 1, .data = true };
	struct reading reading = { .root_fd = image->root_fd, .interrupts = interrupts };
	int ret;

	if (fd < 0)
		return -errno;
	ret = filesystem_id_of(fd, reading.fsid);
	if (ret == 0)
		ret = read_first_file(image->root_fd);
	if (ret == 0)
		ret = send_subvolume(&request, count_at_first_file, &reading);
	if (!reading.done)
		return ret < 0 ? ret : -EPROTO;
	*ret_cost = reading.cost;
	return 0;
}

/* From a new mount, so that nothing is in memory. */
static int measure_once(struct probe_image *image, struct interrupts *interrupts,
			struct feature_cost *ret_cost)
{
	int ret;

	ret = probe_image_unmount(image);
	if (ret == 0)
		ret = probe_image_mount(image);
	if (ret == 0)
		ret = send_and_count(image, interrupts, ret_cost);
	return ret < 0 ? ret : probe_interrupted(interrupts);
}

int probe_send_reada(struct probe_image *image, struct interrupts *interrupts,
		     struct feature_cost *ret_cost)
{
	struct feature_cost least = { .cost = UINT64_MAX };
	int ret;

	ret = make_subvolume(image->root_fd);
	if (ret == 0)
		ret = probe_interrupted(interrupts);
	/* Others may look at the new device, and only add to what is read. */
	for (int i = 0; i < ROUNDS && ret == 0; i++) {
		struct feature_cost cost = { 0 };

		ret = measure_once(image, interrupts, &cost);
		if (ret == 0 && cost.cost < least.cost)
			least = cost;
	}
	if (ret == 0)
		*ret_cost = least;
	return ret;
}
