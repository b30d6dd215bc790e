// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seek/seek-iter.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/endless-call.h"

/*
 * An answer need not lead on if the file changes. This many in a row are no change any more, but a
 * file system that never leads on.
 */
#define STALLED_CALLS_MAX 16

void seek_iter_start(struct seek_iter *iter, int fd, struct byte_range range, uint64_t size)
{
	*iter = (struct seek_iter){
		.fd = fd,
		.start = range.offset,
		.position = range.offset,
		.end = byte_range_end(byte_range_cut(range, size)),
		.whence = SEEK_DATA,
	};
}

/* A descriptor of its own for the file of FD, whose struct file knows of no call before. */
static int open_again(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static int64_t timed_lseek(struct latency *latency, int fd, uint64_t position, int whence)
{
	uint64_t start = monotonic_ns();
	int64_t answer = lseek(fd, position, whence);
	uint64_t end = monotonic_ns();

	latency_record(latency, end - start);
	return answer;
}

/* One call. Returns where it leads to, or a negative errno. */
static int64_t ask(struct seek_iter *iter)
{
	CLEANUP_CLOSE int again = -1;
	int fd = iter->fd;
	int64_t answer;

	if (iter->reopen) {
		again = open_again(fd);
		if (again < 0)
			return again;
		fd = again;
	}

	endless_call_begin();
	do {
		iter->calls++;
		answer = iter->latency ?
				 timed_lseek(iter->latency, fd, iter->position, iter->whence) :
				 lseek(fd, iter->position, iter->whence);
	} while (answer == -1 && errno == EINTR);
	endless_call_end();
	if (answer == -1)
		return -errno;
	/* The end of the last block of a file of 2^63 - 1 bytes: btrfs has it one byte too high. */
	if (answer == INT64_MIN)
		return INT64_MAX;
	return answer < 0 ? -EPROTO : answer;
}

/*
 * No data from the position on, so there is a hole up to the end; or not even a hole, which each
 * file has at its end: then it got shorter than the position.
 */
static int advance_to_end(struct seek_iter *iter)
{
	uint64_t end = iter->end;
	struct stat status;

	if (fstat(iter->fd, &status))
		return -errno;
	if ((uint64_t)status.st_size < end)
		end = status.st_size;
	if (iter->whence == SEEK_HOLE || end < iter->position)
		end = iter->position;

	iter->changed |= end < iter->end;
	iter->position = end;
	iter->end = end;
	return 0;
}

/* It is data where data was looked for, or a hole where a hole was. */
static int stay(struct seek_iter *iter)
{
	/* Only the first answer may be of this kind: the others follow one of the opposite. */
	iter->changed |= iter->position != iter->start || iter->whence == SEEK_HOLE;
	return ++iter->stalled > STALLED_CALLS_MAX ? -EPROTO : 0;
}

static int advance(struct seek_iter *iter)
{
	int64_t answer = ask(iter);

	if (answer == -ENXIO)
		return advance_to_end(iter);
	if (answer < 0)
		return answer;
	if ((uint64_t)answer < iter->position)
		return -EPROTO;
	if ((uint64_t)answer == iter->position)
		return stay(iter);

	iter->stalled = 0;
	iter->position = (uint64_t)answer < iter->end ? (uint64_t)answer : iter->end;
	return 0;
}

int seek_iter_next(struct seek_iter *iter, struct seek_segment *ret_segment)
{
	while (iter->position < iter->end) {
		uint64_t start = iter->position;
		bool is_data = iter->whence == SEEK_HOLE;
		int ret = advance(iter);

		if (ret < 0)
			return ret;
		iter->whence = is_data ? SEEK_DATA : SEEK_HOLE;
		if (iter->position == start)
			continue;
		*ret_segment = (struct seek_segment){ start, iter->position - start, is_data };
		return 1;
	}
	return 0;
}

#define READ_SIZE (256 * 1024)

/* Where the first byte of BYTES is that is not zero, or SIZE. */
static size_t first_other(const unsigned char *bytes, size_t size)
{
	size_t i = 0;

	/* All bytes are the first one, which is zero: memcmp() is fast, and mostly right away. */
	if (!size || (!bytes[0] && memcmp(bytes, bytes + 1, size - 1) == 0))
		return size;
	while (!bytes[i])
		i++;
	return i;
}

int find_nonzero(int fd, struct byte_range range, uint64_t *ret_offset)
{
	CLEANUP_FREE unsigned char *buffer = malloc(READ_SIZE);
	uint64_t end = byte_range_end(range);
	uint64_t offset = range.offset;

	if (!buffer)
		return -ENOMEM;
	while (offset < end) {
		size_t wanted = end - offset < READ_SIZE ? end - offset : READ_SIZE;
		ssize_t size = pread(fd, buffer, wanted, offset);
		size_t other;

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		if (!size)
			break;
		/* It only saves memory, so it may fail. */
		posix_fadvise(fd, offset, size, POSIX_FADV_DONTNEED);
		other = first_other(buffer, size);
		if (other < (size_t)size) {
			*ret_offset = offset + other;
			return 1;
		}
		offset += size;
	}
	*ret_offset = offset;
	return 0;
}
