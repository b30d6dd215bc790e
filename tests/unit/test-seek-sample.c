// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../large-file.h"
#include "seek/seek-sample.h"
#include "sys/clock.h"
#include "test.h"

/*
 * A file of pieces of data and holes in turn, and a kernel whose calls take a time of the clock
 * here. The program is linked with -Wl,--wrap=lseek,--wrap=clock_gettime,--wrap=fstat.
 */
#define FD 1000
#define PIECE 4096
#define BASE_NS 500

static struct {
	uint64_t now;
	uint64_t size;
	/* nanoseconds that a call takes longer for each piece after its offset, up to the end */
	uint64_t rest_ns;
	/* and for each piece up to its answer */
	uint64_t way_ns;
	/* the call, from 1 on, that fails or answers otherwise */
	unsigned int failing_call;
	int error;
	unsigned int calls;
	/* the file has no hole from then on */
	unsigned int filled_from;
	/* calls are disturbed from then on */
	unsigned int disturbed_from;
} kernel;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	time->tv_sec = kernel.now / NANOSECONDS_PER_SECOND;
	time->tv_nsec = kernel.now % NANOSECONDS_PER_SECOND;
	return 0;
}

int __wrap_fstat(int fd, struct stat *status) LARGE_FILE_SYMBOL("__wrap_fstat");
int __wrap_fstat(int fd, struct stat *status)
{
	assert_int_equal(fd, FD);
	*status = (struct stat){ .st_size = kernel.size };
	return 0;
}

static bool is_data(uint64_t offset)
{
	return offset / PIECE % 2 == 0 ||
	       (kernel.filled_from && kernel.calls >= kernel.filled_from);
}

off_t __wrap_lseek(int fd, off_t offset, int whence) LARGE_FILE_SYMBOL("__wrap_lseek");
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	uint64_t answer = offset;

	assert_int_equal(fd, FD);
	assert_true((uint64_t)offset < kernel.size);
	kernel.calls++;
	while (answer < kernel.size && is_data(answer) != (whence == SEEK_DATA))
		answer = (answer / PIECE + 1) * PIECE;
	kernel.now += BASE_NS + (kernel.size - offset) / PIECE * kernel.rest_ns +
		      (answer - offset) / PIECE * kernel.way_ns;
	if (kernel.disturbed_from && kernel.calls >= kernel.disturbed_from)
		kernel.now += 10 * BASE_NS;
	if (kernel.error && kernel.calls == kernel.failing_call) {
		errno = kernel.error;
		return -1;
	}
	if (answer < kernel.size)
		return answer;
	if (whence == SEEK_HOLE)
		return kernel.size;
	errno = ENXIO;
	return -1;
}

static int setup(void **state)
{
	(void)state;
	kernel = (typeof(kernel)){ .size = 1000 * PIECE };
	return 0;
}

static struct seek_sample take(void)
{
	struct seek_sample sample;

	assert_int_equal(seek_sample_take(FD, kernel.size, &sample), 1);
	return sample;
}

TEST_WITH(test_steady, setup, NULL)
{
	struct seek_sample sample = take();

	assert_int_equal(sample.call_ns, BASE_NS);
	assert_int_equal(sample.start_ns, BASE_NS);
	assert_int_equal(sample.end_ns, BASE_NS);
}

TEST_WITH(test_growing, setup, NULL)
{
	struct seek_sample sample;

	kernel.rest_ns = 10;
	sample = take();
	assert_int_equal(sample.start_ns, BASE_NS + 1000 * 10);
	assert_int_equal(sample.end_ns, BASE_NS);
	/* about the middle of both */
	assert_in_range(sample.call_ns, BASE_NS + 400 * 10, BASE_NS + 600 * 10);
}

/* A call passes many pieces: this is no cost of what comes after its answer. */
TEST_WITH(test_a_long_way, setup, NULL)
{
	struct seek_sample sample;

	kernel.way_ns = 100000;
	sample = take();
	assert_int_equal(sample.start_ns, BASE_NS);
	assert_int_equal(sample.end_ns, BASE_NS);
	assert_true(sample.call_ns > 10 * BASE_NS);
}

/* The fastest call counts, whichever it is. */
TEST_WITH(test_disturbed, setup, NULL)
{
	struct seek_sample sample;
	unsigned int calls;

	(void)state;
	take();
	calls = kernel.calls;
	setup(state);
	kernel.disturbed_from = calls - 1;
	sample = take();
	assert_int_equal(sample.start_ns, BASE_NS);
	assert_int_equal(sample.end_ns, BASE_NS);
}

/* The number of calls depends on neither the size nor, beyond a bound, the time. */
TEST_WITH(test_number_of_calls, setup, NULL)
{
	unsigned int calls;

	(void)state;
	take();
	calls = kernel.calls;
	assert_in_range(calls, 16 * 16, 400);
	setup(state);
	kernel.size = 1000000ULL * PIECE;
	take();
	assert_int_equal(kernel.calls, calls);
	setup(state);
	kernel.rest_ns = 1000 * NANOSECONDS_PER_MILLISECOND;
	take();
	assert_in_range(kernel.calls, 16, 60);
}

TEST_WITH(test_small_files, setup, NULL)
{
	(void)state;
	for (uint64_t size = 1; size < 20; size++) {
		setup(state);
		kernel.size = size;
		take();
	}
}

TEST_WITH(test_errors, setup, NULL)
{
	struct seek_sample sample = { 1, 2, 3 };
	unsigned int calls;

	(void)state;
	take();
	calls = kernel.calls;
	/* each call in turn, those that find out what stands included */
	for (unsigned int i = 1; i <= calls; i++) {
		setup(state);
		kernel.error = EIO;
		kernel.failing_call = i;
		assert_int_equal(seek_sample_take(FD, kernel.size, &sample), -EIO);
		assert_int_equal(kernel.calls, i);
	}
	assert_int_equal(sample.call_ns, 1);
	assert_int_equal(sample.start_ns, 2);
	assert_int_equal(sample.end_ns, 3);
}

TEST_WITH(test_interrupted, setup, NULL)
{
	unsigned int calls;

	(void)state;
	take();
	calls = kernel.calls;
	setup(state);
	kernel.error = EINTR;
	kernel.failing_call = calls;
	take();
	assert_int_equal(kernel.calls, calls + 1);
}

/* A hole that is asked for is data by now. */
TEST_WITH(test_changed, setup, NULL)
{
	struct seek_sample sample;
	unsigned int calls;

	(void)state;
	take();
	calls = kernel.calls;
	setup(state);
	kernel.filled_from = calls - 2;
	assert_int_equal(seek_sample_take(FD, kernel.size, &sample), 0);
}
