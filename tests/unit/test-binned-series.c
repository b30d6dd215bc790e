// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/binned-series.h"
#include "test.h"

static struct binned_series series;

static int setup(void **state)
{
	(void)state;
	series = (struct binned_series){ 0 };
	return 0;
}

/* Sample I, from 0 on, is at the position I + 1, and is I long. */
static void add(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		binned_series_add(&series, i + 1, i);
}

static void expect_bin(size_t index, uint64_t position, uint64_t count, uint64_t min, uint64_t max)
{
	const struct series_bin *bin = &series.bins[index];

	assert_int_equal(bin->position, position);
	assert_int_equal(bin->count, count);
	assert_int_equal(bin->min, min);
	assert_int_equal(bin->max, max);
	assert_int_equal(series_bin_mean(bin), (min + max) / 2);
}

TEST_WITH(test_few_samples, setup, NULL)
{
	add(0, SERIES_BINS_MAX);
	assert_int_equal(series.bin_count, SERIES_BINS_MAX);
	assert_int_equal(binned_series_bin_size(&series), 1);
	expect_bin(0, 1, 1, 0, 0);
	expect_bin(SERIES_BINS_MAX - 1, SERIES_BINS_MAX, 1, SERIES_BINS_MAX - 1,
		   SERIES_BINS_MAX - 1);
}

TEST_WITH(test_one_too_many, setup, NULL)
{
	add(0, SERIES_BINS_MAX + 1);
	assert_int_equal(series.bin_count, SERIES_BINS_MAX / 2 + 1);
	assert_int_equal(binned_series_bin_size(&series), 2);
	expect_bin(0, 2, 2, 0, 1);
	expect_bin(SERIES_BINS_MAX / 2 - 1, SERIES_BINS_MAX, 2, SERIES_BINS_MAX - 2,
		   SERIES_BINS_MAX - 1);
	expect_bin(SERIES_BINS_MAX / 2, SERIES_BINS_MAX + 1, 1, SERIES_BINS_MAX, SERIES_BINS_MAX);
	add(SERIES_BINS_MAX + 1, SERIES_BINS_MAX + 2);
	assert_int_equal(series.bin_count, SERIES_BINS_MAX / 2 + 1);
	expect_bin(SERIES_BINS_MAX / 2, SERIES_BINS_MAX + 2, 2, SERIES_BINS_MAX,
		   SERIES_BINS_MAX + 1);
}

TEST_WITH(test_no_sample_is_lost, setup, NULL)
{
	const uint64_t count = 1000003;
	uint64_t found = 0;

	add(0, count);
	assert_in_range(series.bin_count, SERIES_BINS_MAX / 2, SERIES_BINS_MAX);
	for (size_t i = 0; i < series.bin_count; i++) {
		const struct series_bin *bin = &series.bins[i];

		assert_int_equal(bin->min, found);
		assert_int_equal(bin->max, found + bin->count - 1);
		found += bin->count;
		assert_int_equal(bin->position, found);
		if (i + 1 < series.bin_count)
			assert_int_equal(bin->count, binned_series_bin_size(&series));
	}
	assert_int_equal(found, count);
}

/* The longest of two may be either of them. */
TEST_WITH(test_falling, setup, NULL)
{
	for (uint64_t i = 0; i <= SERIES_BINS_MAX; i++)
		binned_series_add(&series, i, SERIES_BINS_MAX - i);
	assert_int_equal(series.bins[0].max, SERIES_BINS_MAX);
	assert_int_equal(series.bins[0].min, SERIES_BINS_MAX - 1);
}

TEST_WITH(test_total_saturates, setup, NULL)
{
	for (uint64_t i = 0; i <= SERIES_BINS_MAX; i++)
		binned_series_add(&series, i, UINT64_MAX);
	assert_int_equal(series.bins[0].total, UINT64_MAX);
}
