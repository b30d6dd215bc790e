// SPDX-License-Identifier: GPL-2.0-only
/* An input is one answer to FS_IOC_FIEMAP, or several in a row. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <linux/fiemap.h>

#include "fs/fiemap.h"
#include "fuzz.h"
#include "sys/cleanup.h"

static const uint8_t *unread;
static size_t unread_size;
static uint64_t asked_from;
static bool asked;

/* Takes at most SIZE bytes from the input, and returns how many. */
static size_t take(void *target, size_t size)
{
	if (size > unread_size)
		size = unread_size;
	if (size)
		memcpy(target, unread, size);
	unread += size;
	unread_size -= size;
	return size;
}

/* Fills in the next answer of the input, and nothing after its end. */
static void take_answer(struct fiemap *answer)
{
	struct fiemap header = { 0 };
	size_t count, most;

	take(&header, sizeof(header));
	count = header.fm_mapped_extents;
	answer->fm_mapped_extents = count;
	if (!count || count > answer->fm_extent_count)
		return;

	/* One extent of zeros after the input's last says as much as thousands would. */
	most = unread_size / sizeof(struct fiemap_extent) + 1;
	if (count > most)
		count = most;
	memset(&answer->fm_extents[count - 1], 0, sizeof(struct fiemap_extent));
	take(answer->fm_extents, count * sizeof(struct fiemap_extent));
	answer->fm_mapped_extents = count;
}

/* The kernel. */
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct fiemap *answer;
	va_list arguments;

	(void)fd;
	va_start(arguments, request);
	answer = va_arg(arguments, struct fiemap *);
	va_end(arguments);

	/* A call from the same place again would get the same answer again. */
	INVARIANT(!asked || answer->fm_start > asked_from);
	INVARIANT(answer->fm_length);
	asked_from = answer->fm_start;
	asked = true;

	take_answer(answer);
	return 0;
}

static void check_one_answer(const uint8_t *data, size_t size)
{
	CLEANUP_FREE void *copy = fuzz_copy(data, size);
	struct fiemap header;
	uint64_t end = 0;

	if (fiemap_check_answer(copy, size) < 0)
		return;

	memcpy(&header, data, sizeof(header));
	INVARIANT(sizeof(header) + header.fm_mapped_extents * sizeof(struct fiemap_extent) <= size);
	for (size_t i = 0; i < header.fm_mapped_extents; i++) {
		struct fiemap_extent extent;

		memcpy(&extent, data + sizeof(header) + i * sizeof(extent), sizeof(extent));
		INVARIANT(extent.fe_logical >= end);
		end = extent.fe_logical + extent.fe_length;
		INVARIANT(end >= extent.fe_logical);
	}
}

static void iterate(struct fiemap_iter *iter, struct byte_range range)
{
	struct mapped_extent extent;
	uint64_t end = 0;
	int ret;

	asked = false;
	fiemap_iter_start(iter, 0, range, 0);
	while ((ret = fiemap_iter_next(iter, &extent)) > 0) {
		INVARIANT(extent.length);
		INVARIANT(extent.offset >= end);
		end = extent.offset + extent.length;
		INVARIANT(end > extent.offset);
		if (!mapped_extent_clip(&extent, range))
			continue;
		INVARIANT(extent.length && extent.offset >= range.offset);
		INVARIANT(extent.offset + extent.length <= byte_range_end(range));
	}
	INVARIANT(ret == 0 || ret == -EPROTO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct byte_range ranges[] = {
		{ 0, FIEMAP_MAX_OFFSET },
		{ 12345, 67890 },
	};
	/* For all inputs, as for all files: its buffer is so large that it is mapped again each time. */
	static struct fiemap_iter *iter;

	if (!iter)
		INVARIANT(fiemap_iter_new(&iter) == 0);
	check_one_answer(data, size);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		unread = data;
		unread_size = size;
		iterate(iter, ranges[i]);
	}
	return 0;
}
