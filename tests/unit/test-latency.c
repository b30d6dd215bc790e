// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "num/latency.h"
#include "test.h"

static struct latency latency;

static int setup(void **state)
{
	(void)state;
	latency = (struct latency){ 0 };
	return 0;
}

TEST_WITH(test_no_call, setup, NULL)
{
	const struct latency_figures none = { 0 };
	struct latency_figures figures = latency_figures_of(&latency);

	assert_memory_equal(&figures, &none, sizeof(none));
	assert_int_equal(latency_calls_per_second(&figures), 0);
	for (unsigned int i = 0; i < LATENCY_BINS; i++)
		assert_int_equal(latency_bin(&latency, i).count, 0);
}

TEST_WITH(test_figures, setup, NULL)
{
	struct latency_figures figures;

	for (uint64_t i = 1; i <= 200; i++)
		latency_record(&latency, i);
	figures = latency_figures_of(&latency);
	assert_int_equal(figures.calls, 200);
	assert_int_equal(figures.min, 1);
	assert_int_equal(figures.mean, 100);
	assert_int_equal(figures.p50, 100);
	assert_int_equal(figures.p99, 198);
	assert_int_equal(figures.max, 200);
	assert_int_equal(figures.total, 20100);
	assert_int_equal(latency_calls_per_second(&figures), 200 * UINT64_C(1000000000) / 20100);
}

TEST_WITH(test_percentiles_of_few, setup, NULL)
{
	latency_record(&latency, 7);
	assert_int_equal(latency_percentile(&latency, 0), 7);
	assert_int_equal(latency_percentile(&latency, 1), 7);
	assert_int_equal(latency_percentile(&latency, 100), 7);
	latency_record(&latency, 9);
	assert_int_equal(latency_percentile(&latency, 50), 7);
	assert_int_equal(latency_percentile(&latency, 51), 9);
}

/* What is known exactly is not rounded up to the end of its bucket. */
TEST_WITH(test_no_percentile_is_above_the_largest, setup, NULL)
{
	latency_record(&latency, 1000000);
	assert_int_equal(latency_percentile(&latency, 50), 1000000);
	latency_record(&latency, 1000001);
	assert_int_equal(latency_percentile(&latency, 100), 1000001);
}

/* Whatever is recorded, what comes back is not below it and at most 1/128 above. */
static void assert_precise(uint64_t value)
{
	uint64_t told;

	latency = (struct latency){ 0 };
	latency_record(&latency, value);
	/* lest the maximum hides the bucket's end */
	latency_record(&latency, UINT64_MAX);
	told = latency_percentile(&latency, 50);
	assert_true(told >= value);
	assert_true(told - value <= value / 128);
	assert_int_equal(latency.min, value);
}

TEST_WITH(test_precision, setup, NULL)
{
	for (uint64_t value = 0; value < 2048; value++)
		assert_precise(value);
	for (unsigned int bit = 11; bit < 64; bit++) {
		assert_precise(UINT64_C(1) << bit);
		assert_precise((UINT64_C(1) << bit) - 1);
		assert_precise((UINT64_C(1) << bit) + 1);
		assert_precise((UINT64_C(1) << bit) + (UINT64_C(1) << (bit - 3)) + 5);
	}
	assert_precise(UINT64_MAX);
}

/* The bins touch each other, cover everything, and each call is in the one that it belongs to. */
TEST_WITH(test_bins, setup, NULL)
{
	uint64_t end = 0;

	for (unsigned int i = 0; i < LATENCY_BINS; i++) {
		struct latency_bin bin = latency_bin(&latency, i);

		assert_int_equal(bin.low_ns, end);
		assert_true(bin.high_ns > bin.low_ns);
		end = bin.high_ns;

		latency_record(&latency, bin.low_ns);
		latency_record(&latency, bin.high_ns - 1);
		bin = latency_bin(&latency, i);
		assert_int_equal(bin.count, 2);
	}
	assert_int_equal(end, UINT64_MAX);
	/* what was recorded later fell into none of those before */
	for (unsigned int i = 0; i < LATENCY_BINS; i++)
		assert_int_equal(latency_bin(&latency, i).count, 2);
	assert_int_equal(latency_bin(&latency, 0).high_ns, 2);
	assert_int_equal(latency_bin(&latency, 9).low_ns, 512);
	latency_record(&latency, UINT64_MAX);
	assert_int_equal(latency_bin(&latency, 63).count, 3);
}

TEST_WITH(test_total_does_not_overflow, setup, NULL)
{
	latency_record(&latency, UINT64_MAX);
	latency_record(&latency, 2);
	assert_int_equal(latency.total, UINT64_MAX);
}

TEST_WITH(test_add, setup, NULL)
{
	struct latency *other = calloc(1, sizeof(*other));

	assert_non_null(other);
	latency_add(&latency, other);
	assert_int_equal(latency.count, 0);
	latency_record(other, 50);
	latency_record(other, 300);
	latency_add(&latency, other);
	assert_memory_equal(&latency, other, sizeof(latency));

	*other = (struct latency){ 0 };
	latency_record(other, 10);
	latency_add(&latency, other);
	assert_int_equal(latency.count, 3);
	assert_int_equal(latency.min, 10);
	assert_int_equal(latency.max, 300);
	assert_int_equal(latency.total, 360);
	assert_int_equal(latency_percentile(&latency, 50), 50);
	free(other);
}

/* Each figure by itself: they are not of one series. */
TEST_WITH(test_medians, setup, NULL)
{
	static const struct latency_figures series[] = {
		{ .calls = 3, .min = 9, .mean = 10, .p50 = 1, .p99 = 7, .max = 100, .total = 30 },
		{ .calls = 5, .min = 2, .mean = 20, .p50 = 3, .p99 = 6, .max = 300, .total = 10 },
		{ .calls = 4, .min = 1, .mean = 30, .p50 = 2, .p99 = 5, .max = 200, .total = 20 },
	};
	struct latency_figures figures;

	assert_int_equal(latency_figures_median(series, ARRAY_SIZE(series), &figures), 0);
	assert_int_equal(figures.calls, 4);
	assert_int_equal(figures.min, 2);
	assert_int_equal(figures.mean, 20);
	assert_int_equal(figures.p50, 2);
	assert_int_equal(figures.p99, 6);
	assert_int_equal(figures.max, 200);
	assert_int_equal(figures.total, 20);
	assert_int_equal(latency_figures_median(series, 1, &figures), 0);
	assert_memory_equal(&figures, &series[0], sizeof(figures));
}

TEST_WITH(test_calls_for_a_percentile, setup, NULL)
{
	assert_false(latency_has_percentile(0, 50));
	assert_false(latency_has_percentile(9, 90));
	assert_true(latency_has_percentile(10, 90));
	assert_false(latency_has_percentile(19, 95));
	assert_true(latency_has_percentile(20, 95));
	assert_false(latency_has_percentile(99, 99));
	assert_true(latency_has_percentile(100, 99));
}
