// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/device-stats.h"
#include "fs/sysfs-attribute.h"
#include "num/saturating.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "text/decimal.h"

#define SECTOR_SIZE 512

/* The numbers of a "stat" file; later kernels have more. */
enum { READS, READS_MERGED, READ_SECTORS, READ_MS, IN_FLIGHT = 8, BUSY_MS, QUEUE_MS, FIELD_COUNT };

/* Moves *TEXT behind the next number. Returns false if there is none, or if it is too large. */
static bool parse_number(const char **text, const char *end, uint64_t *ret_number)
{
	while (*text < end && **text == ' ')
		(*text)++;
	return decimal_read(text, end, ret_number);
}

static bool scale(uint64_t *number, uint64_t factor)
{
	return !__builtin_mul_overflow(*number, factor, number);
}

int device_stats_parse(const char *text, size_t size, struct device_stats *ret_stats)
{
	const char *end = text + size;
	uint64_t numbers[FIELD_COUNT];

	for (int i = 0; i < FIELD_COUNT; i++)
		if (!parse_number(&text, end, &numbers[i]))
			return -EPROTO;
	if (!scale(&numbers[READ_SECTORS], SECTOR_SIZE) ||
	    !scale(&numbers[READ_MS], NANOSECONDS_PER_MILLISECOND) ||
	    !scale(&numbers[BUSY_MS], NANOSECONDS_PER_MILLISECOND))
		return -EPROTO;

	*ret_stats = (struct device_stats){
		.reads = numbers[READS],
		.read_bytes = numbers[READ_SECTORS],
		.read_ns = numbers[READ_MS],
		.busy_ns = numbers[BUSY_MS],
		.in_flight = numbers[IN_FLIGHT],
		.device_count = 1,
	};
	return 0;
}

static int read_one(int directory, const char *name, struct device_stats *ret_stats)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int fd = -1;
	char text[512];
	ssize_t size;

	if (asprintf(&path, "%s/stat", name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text));
	return size < 0 ? -errno : device_stats_parse(text, size, ret_stats);
}

static void add(struct device_stats *sum, const struct device_stats *stats)
{
	sum->reads = saturating_add(sum->reads, stats->reads);
	sum->read_bytes = saturating_add(sum->read_bytes, stats->read_bytes);
	sum->read_ns = saturating_add(sum->read_ns, stats->read_ns);
	sum->busy_ns = saturating_add(sum->busy_ns, stats->busy_ns);
	sum->in_flight = saturating_add(sum->in_flight, stats->in_flight);
	sum->device_count += stats->device_count;
}

static int read_all(DIR *directory, struct device_stats *sum)
{
	struct dirent *entry;

	while ((errno = 0, entry = readdir(directory))) {
		struct device_stats stats;
		int ret;

		if (entry->d_name[0] == '.')
			continue;
		ret = read_one(dirfd(directory), entry->d_name, &stats);
		if (ret < 0)
			return ret;
		add(sum, &stats);
	}
	return -errno;
}

int device_stats_read(const char *root, const uint8_t fsid[FSID_SIZE],
		      struct device_stats *ret_stats)
{
	struct device_stats sum = { 0 };
	CLEANUP_FREE char *path = sysfs_path_of(root, fsid, "devices");
	DIR *directory;
	int ret;

	if (!path)
		return -ENOMEM;
	directory = opendir(path);
	if (!directory)
		return -errno;
	ret = read_all(directory, &sum);
	closedir(directory);
	if (ret < 0)
		return ret;
	if (!sum.device_count)
		return -ENOENT;

	*ret_stats = sum;
	return 0;
}

/* Counters that go back belong to a device that was replaced. */
static uint64_t grown(uint64_t after, uint64_t before)
{
	return after > before ? after - before : 0;
}

struct device_stats device_stats_subtract(const struct device_stats *after,
					  const struct device_stats *before)
{
	return (struct device_stats){
		.reads = grown(after->reads, before->reads),
		.read_bytes = grown(after->read_bytes, before->read_bytes),
		.read_ns = grown(after->read_ns, before->read_ns),
		.busy_ns = grown(after->busy_ns, before->busy_ns),
		.in_flight = after->in_flight,
		.device_count = after->device_count,
	};
}
