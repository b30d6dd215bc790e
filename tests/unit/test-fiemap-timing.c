// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <time.h>

#include "kernel-answers.h"
#include "sharing/fiemap-timing.h"
#include "sys/clock.h"
#include "test.h"

/* What the clock shows at each look; the program is linked with -Wl,--wrap=clock_gettime. */
static uint64_t times[64];
static size_t time_count;
static size_t next_time;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	uint64_t now;

	assert_int_equal(clock, CLOCK_MONOTONIC);
	assert_true(next_time < time_count);
	now = times[next_time++];
	*ret_time = (struct timespec){
		.tv_sec = now / NANOSECONDS_PER_SECOND,
		.tv_nsec = now % NANOSECONDS_PER_SECOND,
	};
	return 0;
}

static struct fiemap_iter *iter;

static int setup(void **state)
{
	time_count = 0;
	next_time = 0;
	return ioctl_mock_setup(state) || fiemap_iter_new(&iter);
}

static int teardown(void **state)
{
	fiemap_iter_free(iter);
	return ioctl_mock_teardown(state);
}

static uint64_t latest_time(void)
{
	return time_count ? times[time_count - 1] : 0;
}

/* The clock is looked at after NANOSECONDS. */
static void expect_look(uint64_t nanoseconds)
{
	const uint64_t now = latest_time() + nanoseconds;

	assert_true(time_count < ARRAY_SIZE(times));
	times[time_count++] = now;
}

static const struct byte_range range = { KIB(4), MIB(1) };

static const struct fiemap_extent file[] = {
	{ .fe_logical = KIB(4), .fe_physical = MIB(1), .fe_length = KIB(4) },
	{ .fe_logical = KIB(8),
	  .fe_physical = MIB(2),
	  .fe_length = KIB(4),
	  .fe_flags = FIEMAP_EXTENT_LAST },
};

/* A call without room for extents, and calls for all of them. */
static void expect_round(uint64_t map_ns, uint64_t full_ns)
{
	expect_look(0);
	expect_fiemap(range.offset, range.length, 0, 0, NULL, 2, 0);
	expect_look(map_ns);
	expect_look(0);
	expect_fiemap(range.offset, range.length, 0, FIEMAP_ROOM, file, 1, 0);
	expect_fiemap(KIB(8), range.length - KIB(4), 0, FIEMAP_ROOM, &file[1], 1, 0);
	expect_look(full_ns);
}

static void assert_timing(uint64_t map_ns, uint64_t shared_check_ns)
{
	struct fiemap_timing timing;

	assert_int_equal(fiemap_timing_measure(iter, MOCK_FD, range, &timing), 0);
	assert_int_equal(timing.map_ns, map_ns);
	assert_int_equal(timing.shared_check_ns, shared_check_ns);
	assert_int_equal(next_time, time_count);
}

TEST_WITH(test_once, setup, teardown)
{
	uint64_t ns;

	expect_look(100);
	expect_fiemap(range.offset, range.length, 0, FIEMAP_ROOM, file, 2, 0);
	expect_look(2 * NANOSECONDS_PER_SECOND + 5);
	assert_int_equal(fiemap_timing_once(iter, MOCK_FD, range, &ns), 0);
	assert_int_equal(ns, 2 * NANOSECONDS_PER_SECOND + 5);
}

/* The medians of five rounds, each way on its own. */
TEST_WITH(test_medians, setup, teardown)
{
	static const uint64_t rounds[][2] = {
		{ 900, 1200 }, { 100, 5000 }, { 300, 1000 }, { 200, 1100 }, { 400, 90 },
	};

	expect_look(0);
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
		expect_round(rounds[i][0], rounds[i][1]);
		/* is there time for another round? */
		if (i + 1 < ARRAY_SIZE(rounds))
			expect_look(0);
	}
	assert_timing(300, 1100 - 300);
}

TEST_WITH(test_shared_check_never_costs_less_than_nothing, setup, teardown)
{
	expect_look(0);
	for (size_t i = 0; i < 5; i++) {
		expect_round(1000, 900);
		if (i < 4)
			expect_look(0);
	}
	assert_timing(1000, 0);
}

/* One round of a large file may take minutes. */
TEST_WITH(test_slow_file_is_measured_once, setup, teardown)
{
	expect_look(0);
	expect_round(NANOSECONDS_PER_SECOND, 5 * NANOSECONDS_PER_SECOND);
	expect_look(0);
	assert_timing(NANOSECONDS_PER_SECOND, 4 * NANOSECONDS_PER_SECOND);
}

TEST_WITH(test_errors, setup, teardown)
{
	struct fiemap_timing timing = { .map_ns = 99 };
	uint64_t ns = 99;

	expect_look(0);
	expect_fiemap(range.offset, range.length, 0, FIEMAP_ROOM, NULL, 0, EIO);
	assert_int_equal(fiemap_timing_once(iter, MOCK_FD, range, &ns), -EIO);
	assert_int_equal(ns, 99);

	expect_look(0);
	expect_look(0);
	expect_fiemap(range.offset, range.length, 0, 0, NULL, 0, EOPNOTSUPP);
	assert_int_equal(fiemap_timing_measure(iter, MOCK_FD, range, &timing), -EOPNOTSUPP);

	expect_look(0);
	expect_look(0);
	expect_fiemap(range.offset, range.length, 0, 0, NULL, 2, 0);
	expect_look(0);
	expect_look(0);
	expect_fiemap(range.offset, range.length, 0, FIEMAP_ROOM, NULL, UINT32_MAX, 0);
	assert_int_equal(fiemap_timing_measure(iter, MOCK_FD, range, &timing), -EPROTO);
	assert_int_equal(timing.map_ns, 99);
}
