// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <time.h>

#include "sys/min-cpu-time.h"
#include "test.h"

static uint64_t now_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
	time->tv_sec = now_ns / 1000000000;
	time->tv_nsec = now_ns % 1000000000;
	return 0;
}

struct calls {
	const uint64_t *durations;
	int count;
	int error_at;
};

static int call(int fd, void *data)
{
	struct calls *calls = data;

	assert_int_equal(fd, 7);
	now_ns += calls->durations[calls->count++];
	return calls->count == calls->error_at ? -EIO : 0;
}

TEST(test_least)
{
	static const uint64_t durations[] = { 900, 400, 3000000000, 300, 500 };
	struct calls calls = { .durations = durations };
	uint64_t ns;

	assert_int_equal(min_cpu_time_of(call, 7, &calls, &ns), 0);
	assert_int_equal(ns, 300);
	assert_int_equal(calls.count, ARRAY_SIZE(durations));
}

TEST(test_error)
{
	static const uint64_t durations[] = { 900, 400 };
	struct calls calls = { .durations = durations, .error_at = 2 };
	uint64_t ns = 42;

	assert_int_equal(min_cpu_time_of(call, 7, &calls, &ns), -EIO);
	assert_int_equal(ns, 42);
	assert_int_equal(calls.count, 2);
}
