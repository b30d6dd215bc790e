// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <math.h>

#include "num/saturating.h"
#include "num/trend.h"

/* Student's t for a confidence interval of 99.9% and TREND_CALLS_MIN calls; less for more calls. */
#define STUDENT_T 4.0L

/* Halves the number of spans. */
static void merge_spans(struct trend *trend)
{
	struct trend_span *spans = trend->spans;

	for (size_t i = 0; i < TREND_SPANS / 2; i++) {
		spans[i].count = spans[2 * i].count + spans[2 * i + 1].count;
		spans[i].total = saturating_add(spans[2 * i].total, spans[2 * i + 1].total);
	}
	trend->span_count = TREND_SPANS / 2;
	trend->span_size *= 2;
}

static void add_to_spans(struct trend *trend, uint64_t nanoseconds)
{
	struct trend_span *span = trend->spans + trend->span_count;

	if (!trend->span_size)
		trend->span_size = 1;
	if (trend->span_count && span[-1].count < trend->span_size) {
		span[-1].count++;
		span[-1].total = saturating_add(span[-1].total, nanoseconds);
		return;
	}
	if (trend->span_count == TREND_SPANS)
		merge_spans(trend);
	trend->spans[trend->span_count++] = (struct trend_span){ 1, nanoseconds };
}

/* Welford's way, which does not subtract large sums from each other. */
void trend_record(struct trend *trend, uint64_t size, uint64_t nanoseconds)
{
	long double size_off = size - trend->mean_size;
	long double time_off = nanoseconds - trend->mean_time;

	trend->count++;
	trend->mean_size += size_off / trend->count;
	trend->mean_time += time_off / trend->count;
	trend->size_size += size_off * (size - trend->mean_size);
	trend->time_time += time_off * (nanoseconds - trend->mean_time);
	trend->size_time += size_off * (nanoseconds - trend->mean_time);
	add_to_spans(trend, nanoseconds);
}

uint64_t trend_deviation(const struct trend *trend)
{
	if (trend->count < 2)
		return 0;
	return sqrtl(trend->time_time / (trend->count - 1));
}

int64_t trend_slope(const struct trend *trend, uint64_t step)
{
	long double slope;

	if (trend->size_size <= 0)
		return 0;
	slope = roundl(trend->size_time / trend->size_size * step);
	if (slope >= (long double)INT64_MAX)
		return INT64_MAX;
	return slope <= (long double)INT64_MIN ? INT64_MIN : (int64_t)slope;
}

/* The mean of a tenth, span by span from FIRST on, STEP 1 or -1 on. */
static uint64_t tenth_from(const struct trend *trend, const struct trend_span *first, int step)
{
	const uint64_t wanted = trend->count / 10 ? trend->count / 10 : 1;
	uint64_t count = 0, total = 0;

	if (!trend->count)
		return 0;
	for (const struct trend_span *span = first; count < wanted; span += step) {
		count += span->count;
		total = saturating_add(total, span->total);
	}
	return total / count;
}

uint64_t trend_first_tenth(const struct trend *trend)
{
	return tenth_from(trend, trend->spans, 1);
}

uint64_t trend_last_tenth(const struct trend *trend)
{
	if (!trend->count)
		return 0;
	return tenth_from(trend, trend->spans + trend->span_count - 1, -1);
}

/* The variance that the line explains, against the variance around it. */
static bool has_significant_slope(const struct trend *trend)
{
	long double explained, around;

	if (trend->count < TREND_CALLS_MIN || trend->size_size <= 0)
		return false;
	explained = trend->size_time * trend->size_time / trend->size_size;
	around = fmaxl(trend->time_time - explained, 0) / (trend->count - 2);
	return explained > STUDENT_T * STUDENT_T * around;
}

/* A few slow calls can make the tenths and the line through all calls contradict each other. */
bool trend_is_clear(const struct trend *trend)
{
	return has_significant_slope(trend) &&
	       (trend->size_time > 0) == (trend_last_tenth(trend) > trend_first_tenth(trend));
}
