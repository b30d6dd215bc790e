// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <math.h>

#include "saturate.h"
#include "series.h"

/* Halves the number of spans. */
static void merge_spans(struct series *series)
{
	struct series_span *spans = series->spans;

	for (size_t i = 0; i < SERIES_SPANS / 2; i++) {
		spans[i].count = spans[2 * i].count + spans[2 * i + 1].count;
		spans[i].total = saturating_add(spans[2 * i].total, spans[2 * i + 1].total);
	}
	series->span_count = SERIES_SPANS / 2;
	series->span_size *= 2;
}

static void add_to_spans(struct series *series, uint64_t nanoseconds)
{
	struct series_span *span = series->spans + series->span_count;

	if (!series->span_size)
		series->span_size = 1;
	if (series->span_count && span[-1].count < series->span_size) {
		span[-1].count++;
		span[-1].total = saturating_add(span[-1].total, nanoseconds);
		return;
	}
	if (series->span_count == SERIES_SPANS)
		merge_spans(series);
	series->spans[series->span_count++] = (struct series_span){ 1, nanoseconds };
}

/* Welford's way, which does not subtract large sums from each other. */
void series_record(struct series *series, uint64_t size, uint64_t nanoseconds)
{
	long double size_off = size - series->mean_size;
	long double time_off = nanoseconds - series->mean_time;

	series->count++;
	series->mean_size += size_off / series->count;
	series->mean_time += time_off / series->count;
	series->size_size += size_off * (size - series->mean_size);
	series->time_time += time_off * (nanoseconds - series->mean_time);
	series->size_time += size_off * (nanoseconds - series->mean_time);
	add_to_spans(series, nanoseconds);
}

uint64_t series_deviation(const struct series *series)
{
	if (series->count < 2)
		return 0;
	return sqrtl(series->time_time / (series->count - 1));
}

int64_t series_slope(const struct series *series, uint64_t step)
{
	long double slope;

	if (series->size_size <= 0)
		return 0;
	slope = roundl(series->size_time / series->size_size * step);
	if (slope >= (long double)INT64_MAX)
		return INT64_MAX;
	return slope <= (long double)INT64_MIN ? INT64_MIN : (int64_t)slope;
}

/* The mean of a tenth, span by span from FIRST on, STEP 1 or -1 on. */
static uint64_t tenth_from(const struct series *series, const struct series_span *first, int step)
{
	const uint64_t wanted = series->count / 10 ? series->count / 10 : 1;
	uint64_t count = 0, total = 0;

	if (!series->count)
		return 0;
	for (const struct series_span *span = first; count < wanted; span += step) {
		count += span->count;
		total = saturating_add(total, span->total);
	}
	return total / count;
}

uint64_t series_first_tenth(const struct series *series)
{
	return tenth_from(series, series->spans, 1);
}

uint64_t series_last_tenth(const struct series *series)
{
	if (!series->count)
		return 0;
	return tenth_from(series, series->spans + series->span_count - 1, -1);
}
