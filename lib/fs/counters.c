// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fs/counters.h"
#include "fs/sysfs-attribute.h"
#include "sys/cleanup.h"
#include "text/decimal.h"

static int parse_line(const char *line, const char *end, struct counter *ret_counter)
{
	const char *space = memchr(line, ' ', end - line);
	const char *digits;
	size_t length;

	if (!space)
		return -EPROTO;
	length = space - line;
	if (!length || length >= sizeof(ret_counter->name) || memchr(line, '\0', length))
		return -EPROTO;

	memcpy(ret_counter->name, line, length);
	ret_counter->name[length] = '\0';
	digits = space + 1;
	return decimal_read(&digits, end, &ret_counter->value) && digits == end ? 0 : -EPROTO;
}

int counters_parse(const char *text, size_t size, struct counters *ret_counters)
{
	struct counters counters = { 0 };
	const char *end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', end - text);
		int ret;

		if (!newline || counters.count == COUNTERS_MAX)
			return -EPROTO;
		ret = parse_line(text, newline, &counters.list[counters.count]);
		if (ret < 0)
			return ret;
		counters.count++;
		text = newline + 1;
	}

	*ret_counters = counters;
	return 0;
}

int counters_read_file(const char *root, const uint8_t fsid[FSID_SIZE], const char *file,
		       struct counters *ret_counters)
{
	CLEANUP_FREE char *path = sysfs_path_of(root, fsid, file);
	CLEANUP_CLOSE int fd = -1;
	/* sysfs gives at most a page */
	char text[4096];
	ssize_t size;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		size = read(fd, text, sizeof(text));
	} while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;

	return counters_parse(text, size, ret_counters);
}

int counters_read(const char *root, const uint8_t fsid[FSID_SIZE], struct counters *ret_counters)
{
	return counters_read_file(root, fsid, "fastpath_stats", ret_counters);
}

int counters_find(const struct counters *counters, const char *name, uint64_t *ret_value)
{
	for (size_t i = 0; i < counters->count; i++) {
		if (strcmp(counters->list[i].name, name) == 0) {
			*ret_value = counters->list[i].value;
			return 0;
		}
	}
	return -ENOENT;
}

void counters_subtract(const struct counters *after, const struct counters *before,
		       struct counters *ret_change)
{
	ret_change->count = after->count;
	for (size_t i = 0; i < after->count; i++) {
		uint64_t begun_at = 0;

		ret_change->list[i] = after->list[i];
		counters_find(before, after->list[i].name, &begun_at);
		ret_change->list[i].value -= begun_at;
	}
}
