// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "seek/seek-iter.h"
#include "seek/seek-sample.h"
#include "sys/clock.h"
#include "sys/endless-call.h"

/* Short walks, spread over the file. */
#define WALKS 16
#define CALLS_A_WALK 16
#define WALK_NS (100 * NANOSECONDS_PER_MILLISECOND)
#define STANDING_CALLS 8

/* -- walks all over the file -- */

struct walked {
	uint64_t calls;
	uint64_t elapsed_ns;
};

static int walk_from(int fd, uint64_t offset, uint64_t size, struct walked *walked)
{
	const struct byte_range rest = { offset, size - offset };
	uint64_t start = monotonic_ns();
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	seek_iter_start(&iter, fd, rest, size);
	do {
		ret = seek_iter_next(&iter, &segment);
	} while (ret > 0 && iter.calls < CALLS_A_WALK && monotonic_ns() - start < WALK_NS);
	walked->calls += iter.calls;
	walked->elapsed_ns += monotonic_ns() - start;
	return ret < 0 ? ret : 0;
}

static int time_walks(int fd, uint64_t size, uint64_t *ret_ns)
{
	struct walked walked = { 0 };

	for (uint64_t i = 0; i < WALKS; i++) {
		int ret = walk_from(fd, size / WALKS * i, size, &walked);

		if (ret < 0)
			return ret;
	}
	*ret_ns = walked.elapsed_ns / walked.calls;
	return 0;
}

/* -- calls that answer their own offset -- */

/* An offset, and what of it to ask for: data if it is data, else a hole. */
struct standing_call {
	uint64_t offset;
	int whence;
	uint64_t least_ns;
};

/* Returns 1 if OFFSET is the answer, 0 if another one is, or a negative errno. */
static int stands(int fd, uint64_t offset, int whence)
{
	off_t answer;

	endless_call_begin();
	do {
		answer = lseek(fd, offset, whence);
	} while (answer == -1 && errno == EINTR);
	endless_call_end();
	if (answer == -1)
		return errno == ENXIO ? 0 : -errno;
	return answer >= 0 && (uint64_t)answer == offset;
}

static int prepare(int fd, struct standing_call *call)
{
	int ret = stands(fd, call->offset, SEEK_DATA);

	call->whence = ret > 0 ? SEEK_DATA : SEEK_HOLE;
	call->least_ns = UINT64_MAX;
	return ret < 0 ? ret : 0;
}

static int time_call(int fd, struct standing_call *call)
{
	uint64_t start = monotonic_ns();
	int ret = stands(fd, call->offset, call->whence);
	uint64_t elapsed = monotonic_ns() - start;

	if (elapsed < call->least_ns)
		call->least_ns = elapsed;
	return ret;
}

/* Both in turn, so that what else the machine does falls on both. Returns as seek_sample_take(). */
static int time_ends(int fd, uint64_t size, struct seek_sample *sample)
{
	struct standing_call start = { .offset = 0 };
	struct standing_call end = { .offset = size - 1 };
	int ret;

	ret = prepare(fd, &start);
	if (ret == 0)
		ret = prepare(fd, &end);
	if (ret < 0)
		return ret;
	for (int i = 0; i < STANDING_CALLS; i++) {
		ret = time_call(fd, &start);
		if (ret > 0)
			ret = time_call(fd, &end);
		if (ret <= 0)
			return ret;
	}
	sample->start_ns = start.least_ns;
	sample->end_ns = end.least_ns;
	return 1;
}

int seek_sample_take(int fd, uint64_t size, struct seek_sample *ret_sample)
{
	struct seek_sample sample;
	int ret;

	ret = time_walks(fd, size, &sample.call_ns);
	if (ret == 0)
		ret = time_ends(fd, size, &sample);
	if (ret > 0)
		*ret_sample = sample;
	return ret;
}
