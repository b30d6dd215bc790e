/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TREND_H
#define FASTPATH_TREND_H

#include <stddef.h>
#include <stdint.h>

#define TREND_SPANS 4096

/*
 * How long each of a series of calls took, one after the other, and how large it was what they had
 * to do: how much do they vary, and how do they grow? In constant memory. All zero is empty.
 */
struct trend {
	uint64_t count;
	/* means, and sums of the products of the deviations from them */
	long double mean_size;
	long double mean_time;
	long double size_size;
	long double time_time;
	long double size_time;
	/* sums of as many consecutive times each, but for the last one */
	struct trend_span {
		uint64_t count;
		uint64_t total;
	} spans[TREND_SPANS];
	size_t span_count;
	uint64_t span_size;
};

void trend_record(struct trend *trend, uint64_t size, uint64_t nanoseconds);

/* The standard deviation of the times, as of a sample; 0 for fewer than two. */
uint64_t trend_deviation(const struct trend *trend);

/*
 * By how many nanoseconds a call takes longer when the size grows by STEP, by least squares; 0 if
 * the size was always the same.
 */
int64_t trend_slope(const struct trend *trend, uint64_t step);

/*
 * The mean time of the first and of the last tenth of the calls, at least one call; of more than
 * TREND_SPANS the bounds of the tenths are rounded. 0 if there was no call.
 */
uint64_t trend_first_tenth(const struct trend *trend);
uint64_t trend_last_tenth(const struct trend *trend);

#endif
