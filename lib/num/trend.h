/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TREND_H
#define FASTPATH_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREND_SPANS 4096

/* Fewer calls show no trend. */
#define TREND_CALLS_MIN 20

/*
 * The times of a series of calls, and the size of the work of each call: how much do the times
 * vary, and how do they grow with the size? In constant memory. If all members are 0 it is empty.
 */
struct trend {
	uint64_t count;
	/* means, and sums of the products of the deviations from them */
	long double mean_size;
	long double mean_time;
	long double size_size;
	long double time_time;
	long double size_time;
	/* sums of consecutive times; each span has the same number of times, except the last one */
	struct trend_span {
		uint64_t count;
		uint64_t total;
	} spans[TREND_SPANS];
	size_t span_count;
	uint64_t span_size;
};

void trend_record(struct trend *trend, uint64_t size, uint64_t nanoseconds);

/* The sample standard deviation of the times; 0 for fewer than two. */
uint64_t trend_deviation(const struct trend *trend);

/*
 * The number of nanoseconds that a call takes longer for each STEP in size, by least squares; 0 if
 * all sizes are the same.
 */
int64_t trend_slope(const struct trend *trend, uint64_t step);

/*
 * Whether the sign of the slope is known: of at least TREND_CALLS_MIN calls, its confidence interval
 * of 99.9% excludes 0, and the first and the last tenth differ in the same direction.
 */
bool trend_is_clear(const struct trend *trend);

/*
 * The mean time of the first and of the last tenth of the calls, which is at least one call. With
 * more than TREND_SPANS calls the bounds of the tenths are rounded. 0 if there was no call.
 */
uint64_t trend_first_tenth(const struct trend *trend);
uint64_t trend_last_tenth(const struct trend *trend);

#endif
