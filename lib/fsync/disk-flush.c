// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfs/ioctl.h>

#include "fs/inode-flags.h"
#include "fsync/disk-flush.h"
#include "num/saturating.h"
#include "path/temporary-file.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/retry-ioctl.h"

#define DEVICES_MAX 64
/* Numbers of removed devices are not used again. */
#define DEVICE_ID_MAX 4096
#define BLOCK_MAX 65536
/* the data with the log, and the superblock */
#define WRITES_PER_FSYNC 2

struct disk_flush {
	int file_fd;
	void *data;
	size_t data_size;
	size_t block_size;
	int device_fds[DEVICES_MAX];
	size_t device_count;
};

/* Returns a descriptor or a negative errno. */
static int open_device(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) < 0)
		ret = -errno;
	else if (!S_ISBLK(status.st_mode))
		ret = -ENOTBLK;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static int add_device(struct disk_flush *flush, const struct btrfs_ioctl_dev_info_args *device)
{
	const char *path = (const char *)device->path;
	int fd;

	if (flush->device_count == DEVICES_MAX)
		return -E2BIG;
	/* A missing device has no path. */
	if (*path != '/' || !memchr(path, 0, sizeof(device->path)))
		return -ENODEV;
	fd = open_device(path);
	if (fd < 0)
		return fd;
	flush->device_fds[flush->device_count++] = fd;
	return 0;
}

static int open_devices(struct disk_flush *flush, int fd)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	int ret = retry_ioctl(fd, BTRFS_IOC_FS_INFO, &info, sizeof(info));

	if (ret < 0)
		return ret;
	if (info.max_id > DEVICE_ID_MAX)
		return -E2BIG;
	for (uint64_t id = 1; id <= info.max_id; id++) {
		struct btrfs_ioctl_dev_info_args device = { .devid = id };

		ret = retry_ioctl(fd, BTRFS_IOC_DEV_INFO, &device,
				  offsetof(struct btrfs_ioctl_dev_info_args, bytes_used));
		if (ret == -ENODEV)
			continue;
		if (ret == 0)
			ret = add_device(flush, &device);
		if (ret < 0)
			return ret;
	}
	/* Seed devices are not counted, and a replacement has no number from 1 on. */
	return flush->device_count ? 0 : -ENODEV;
}

static int write_start(const struct disk_flush *flush, size_t size)
{
	return write_at(flush->file_fd, flush->data, size, 0);
}

/* With bytes that no disk compresses. */
static void fill(uint64_t *words, size_t size)
{
	uint64_t word = 88172645463325252;

	for (size_t i = 0; i < size / sizeof(word); i++) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		words[i] = word;
	}
}

/* Later writes to it are in place. */
static int make_file(struct disk_flush *flush, int directory_fd, uint64_t data_size)
{
	struct stat status;
	int ret;

	flush->file_fd = openat(directory_fd, ".",
				O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	if (flush->file_fd < 0 || fstat(flush->file_fd, &status) < 0)
		return -errno;
	if (status.st_blksize < 512 || status.st_blksize > BLOCK_MAX)
		return -EINVAL;
	flush->block_size = status.st_blksize;
	if (data_size > DISK_FLUSH_SIZE_MAX)
		return -EFBIG;
	flush->data_size = (data_size + !data_size + flush->block_size - 1) / flush->block_size *
			   flush->block_size;
	if (posix_memalign(&flush->data, BLOCK_MAX, flush->data_size))
		return -ENOMEM;
	fill(flush->data, flush->data_size);
	ret = inode_flags_set_nocow(flush->file_fd, true);
	if (ret == 0)
		ret = write_start(flush, flush->data_size);
	if (ret == 0 && fsync(flush->file_fd) < 0)
		ret = -errno;
	return ret;
}

int disk_flush_new(struct disk_flush **ret_flush, int directory_fd, uint64_t data_size)
{
	struct disk_flush *flush = calloc(1, sizeof(*flush));
	int ret;

	if (!flush)
		return -ENOMEM;
	flush->file_fd = -1;
	ret = open_devices(flush, directory_fd);
	if (ret == 0)
		ret = make_file(flush, directory_fd, data_size);
	if (ret < 0) {
		disk_flush_free(flush);
		return ret;
	}
	*ret_flush = flush;
	return 0;
}

void disk_flush_free(struct disk_flush *flush)
{
	if (!flush)
		return;
	for (size_t i = 0; i < flush->device_count; i++)
		close(flush->device_fds[i]);
	close_fd(&flush->file_fd);
	free(flush->data);
	free(flush);
}

/* Adds the time of a write of SIZE bytes, and of the slowest flush after it. */
static int add_write_and_flush(const struct disk_flush *flush, size_t size, uint64_t *nanoseconds)
{
	uint64_t start = monotonic_ns(), slowest_ns = 0, took_ns;
	int ret = write_start(flush, size);

	if (ret < 0)
		return ret;
	*nanoseconds += monotonic_ns() - start;
	for (size_t i = 0; i < flush->device_count; i++) {
		start = monotonic_ns();
		if (fsync(flush->device_fds[i]) < 0)
			return -errno;
		took_ns = monotonic_ns() - start;
		if (took_ns > slowest_ns)
			slowest_ns = took_ns;
	}
	*nanoseconds += slowest_ns;
	return 0;
}

int disk_flush_time(const struct disk_flush *flush, int fsyncs, uint64_t *ret_nanoseconds)
{
	uint64_t nanoseconds = 0;
	int ret = add_write_and_flush(flush, flush->data_size, &nanoseconds);

	for (int i = 1; i < WRITES_PER_FSYNC * fsyncs && ret == 0; i++)
		ret = add_write_and_flush(flush, flush->block_size, &nanoseconds);
	if (ret < 0)
		return ret;
	*ret_nanoseconds = nanoseconds;
	return 0;
}

struct fsync_parts fsync_parts_of(const struct fsync_kind_sums sums[FSYNC_KINDS], uint64_t disk_ns)
{
	struct fsync_parts parts = { 0 };

	for (int kind = 0; kind < FSYNC_KINDS; kind++) {
		uint64_t total_ns = sums[kind].total_ns, least_ns, *rest;

		if (__builtin_mul_overflow(sums[kind].count, disk_ns, &least_ns) ||
		    least_ns > total_ns)
			least_ns = total_ns;
		rest = kind == FSYNC_LOG ? &parts.log_ns : &parts.commit_ns;
		parts.disk_ns = saturating_add(parts.disk_ns, least_ns);
		*rest = saturating_add(*rest, total_ns - least_ns);
	}
	return parts;
}
