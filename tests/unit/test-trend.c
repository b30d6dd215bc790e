// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/trend.h"
#include "test.h"

static struct trend trend;

static int setup(void **state)
{
	(void)state;
	trend = (struct trend){ 0 };
	return 0;
}

static void expect_all(uint64_t deviation, int64_t slope, uint64_t first, uint64_t last)
{
	assert_int_equal(trend_deviation(&trend), deviation);
	assert_int_equal(trend_slope(&trend, 1000), slope);
	assert_int_equal(trend_first_tenth(&trend), first);
	assert_int_equal(trend_last_tenth(&trend), last);
}

TEST_WITH(test_nothing, setup, NULL)
{
	expect_all(0, 0, 0, 0);
}

TEST_WITH(test_one, setup, NULL)
{
	trend_record(&trend, 100, 5);
	expect_all(0, 0, 5, 5);
}

/* A textbook's: the mean is 5, the sum of the squares 32. */
TEST_WITH(test_deviation, setup, NULL)
{
	static const uint64_t times[] = { 2000, 4000, 4000, 4000, 5000, 5000, 7000, 9000 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		trend_record(&trend, 1, times[i]);
	/* the size is always the same */
	expect_all(2138, 0, 2000, 9000);
}

TEST_WITH(test_growing_and_shrinking, setup, NULL)
{
	(void)state;
	for (uint64_t i = 1; i <= 100; i++)
		trend_record(&trend, i * 50, 1000 + i * 10);
	assert_int_equal(trend_slope(&trend, 1000), 200);
	assert_int_equal(trend_first_tenth(&trend), 1055);
	assert_int_equal(trend_last_tenth(&trend), 1955);

	setup(state);
	for (uint64_t i = 1; i <= 100; i++)
		trend_record(&trend, i * 50, 5000 - i * 10);
	assert_int_equal(trend_slope(&trend, 1000), -200);
}

/* A line through (1, 1), (2, 3), (3, 2), (4, 4): 4/5 of a unit for each step. */
TEST_WITH(test_slope_of_scattered, setup, NULL)
{
	static const uint64_t times[] = { 100, 300, 200, 400 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		trend_record(&trend, i + 1, times[i]);
	assert_int_equal(trend_slope(&trend, 1), 80);
	assert_int_equal(trend_slope(&trend, 1000), 80000);
}

/* Large numbers that hardly differ. */
TEST_WITH(test_far_from_zero, setup, NULL)
{
	const uint64_t far = UINT64_C(1) << 40;

	for (uint64_t i = 0; i < 1000; i++)
		trend_record(&trend, far + i, far + 2 * i);
	assert_int_equal(trend_slope(&trend, 1000), 2000);
	assert_int_equal(trend_deviation(&trend), 577);
}

/* However many there are, the tenths are those of all. */
TEST_WITH(test_more_than_spans, setup, NULL)
{
	const uint64_t count = 10 * TREND_SPANS;

	for (uint64_t i = 0; i < count; i++) {
		trend_record(&trend, i, i < count / 10 ? 7 : i < count - count / 10 ? 50 : 300);
		assert_true(trend.span_count <= TREND_SPANS);
	}
	assert_int_equal(trend.span_size, 16);
	assert_in_range(trend_first_tenth(&trend), 7, 8);
	assert_in_range(trend_last_tenth(&trend), 299, 300);
}

TEST_WITH(test_just_after_merging, setup, NULL)
{
	for (uint64_t i = 0; i <= TREND_SPANS; i++)
		trend_record(&trend, i, i);
	assert_int_equal(trend.span_size, 2);
	assert_int_equal(trend.span_count, TREND_SPANS / 2 + 1);
	assert_int_equal(trend_first_tenth(&trend), 204);
	assert_int_equal(trend_last_tenth(&trend), TREND_SPANS - 204);
}

TEST_WITH(test_extremes, setup, NULL)
{
	(void)state;
	trend_record(&trend, 0, 0);
	trend_record(&trend, 1, UINT64_MAX);
	trend_record(&trend, 2, UINT64_MAX);
	assert_int_equal(trend_slope(&trend, UINT64_MAX), INT64_MAX);
	assert_int_equal(trend_last_tenth(&trend), UINT64_MAX);

	setup(state);
	trend_record(&trend, 0, UINT64_MAX);
	trend_record(&trend, 1, 0);
	assert_int_equal(trend_slope(&trend, UINT64_MAX), INT64_MIN);
}

static bool is_clear_of(size_t count, uint64_t (*time_of)(uint64_t i))
{
	trend = (struct trend){ 0 };
	for (uint64_t i = 1; i <= count; i++)
		trend_record(&trend, i * 100, time_of(i));
	return trend_is_clear(&trend);
}

static uint64_t growing(uint64_t i)
{
	return 1000 + i * 10;
}

static uint64_t shrinking(uint64_t i)
{
	return 5000 - i * 10;
}

static uint64_t constant(uint64_t i)
{
	(void)i;
	return 1000;
}

/* The same noise in each run, up to 999. */
static uint64_t noisy(uint64_t i)
{
	return i * 7919 % 1000;
}

static uint64_t growing_with_noise(uint64_t i)
{
	return noisy(i) + i * 10;
}

/* The last two are slow, as during a commit. */
static uint64_t slow_at_the_end(uint64_t i)
{
	return i > 98 ? 100000 : 1000 + i % 3;
}

/* The line falls, and the last tenth is above the first. */
static uint64_t contradicting(uint64_t i)
{
	return i <= 10 ? 0 : i > 90 ? 100 : 2000 - i * 20;
}

TEST_WITH(test_clear, setup, NULL)
{
	assert_true(is_clear_of(100, growing));
	assert_true(is_clear_of(100, shrinking));
	assert_true(is_clear_of(100, growing_with_noise));
	assert_true(is_clear_of(TREND_CALLS_MIN, growing));
}

TEST_WITH(test_not_clear, setup, NULL)
{
	assert_false(is_clear_of(0, growing));
	assert_false(is_clear_of(2, growing));
	assert_false(is_clear_of(TREND_CALLS_MIN - 1, growing));
	assert_false(is_clear_of(100, constant));
	assert_false(is_clear_of(100, noisy));
	assert_false(is_clear_of(100, slow_at_the_end));
	assert_false(is_clear_of(100, contradicting));
	/* as growing_with_noise, but too short to see it */
	assert_false(is_clear_of(TREND_CALLS_MIN, growing_with_noise));
}
