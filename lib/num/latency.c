// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "num/latency.h"
#include "num/quartiles.h"
#include "num/saturating.h"
#include "sys/cleanup.h"
#include "sys/clock.h"

#define BITS LATENCY_BUCKET_BITS

/*
 * The first two powers' worth of buckets are one nanosecond wide. From there on the width doubles
 * with each power of two, so the top BITS + 1 bits of a time and its power say the bucket.
 */
static size_t bucket_of(uint64_t nanoseconds)
{
	unsigned int top_bit = 63 - __builtin_clzll(nanoseconds | 1);
	unsigned int shift = top_bit > BITS ? top_bit - BITS : 0;

	return ((size_t)shift << BITS) + (nanoseconds >> shift);
}

/* The longest time that belongs to BUCKET. */
static uint64_t bucket_high(size_t bucket)
{
	unsigned int shift = bucket >> (BITS + 1) ? (bucket >> BITS) - 1 : 0;
	uint64_t top_bits = bucket - ((size_t)shift << BITS);

	return (top_bits << shift) + ((UINT64_C(1) << shift) - 1);
}

void latency_record(struct latency *latency, uint64_t nanoseconds)
{
	if (!latency->count || nanoseconds < latency->min)
		latency->min = nanoseconds;
	if (nanoseconds > latency->max)
		latency->max = nanoseconds;
	latency->count++;
	latency->total = saturating_add(latency->total, nanoseconds);
	latency->buckets[bucket_of(nanoseconds)]++;
}

void latency_add(struct latency *latency, const struct latency *other)
{
	if (!other->count)
		return;
	if (!latency->count || other->min < latency->min)
		latency->min = other->min;
	if (other->max > latency->max)
		latency->max = other->max;
	latency->count += other->count;
	latency->total = saturating_add(latency->total, other->total);
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		latency->buckets[i] += other->buckets[i];
}

uint64_t latency_percentile(const struct latency *latency, unsigned int percent)
{
	uint64_t wanted = mul_div_up(latency->count, percent, 100);
	uint64_t seen = 0;

	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += latency->buckets[i];
		if (seen >= wanted && seen)
			return bucket_high(i) < latency->max ? bucket_high(i) : latency->max;
	}
	return 0;
}

struct latency_bin latency_bin(const struct latency *latency, unsigned int index)
{
	struct latency_bin bin = {
		.low_ns = index ? UINT64_C(1) << index : 0,
		.high_ns = index + 1 < LATENCY_BINS ? UINT64_C(1) << (index + 1) : UINT64_MAX,
	};

	for (size_t i = bucket_of(bin.low_ns); i <= bucket_of(bin.high_ns - 1); i++)
		bin.count += latency->buckets[i];
	return bin;
}

struct latency_figures latency_figures_of(const struct latency *latency)
{
	return (struct latency_figures){
		.calls = latency->count,
		.min = latency->min,
		.mean = latency->count ? latency->total / latency->count : 0,
		.p50 = latency_percentile(latency, 50),
		.p99 = latency_percentile(latency, 99),
		.max = latency->max,
		.total = latency->total,
	};
}

/* The median of the member at OFFSET. */
static uint64_t median_of(const struct latency_figures *figures, size_t count, size_t offset,
			  uint64_t *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = *(const uint64_t *)((const char *)&figures[i] + offset);
	return median(values, count);
}

int latency_figures_median(const struct latency_figures *figures, size_t count,
			   struct latency_figures *ret_median)
{
	CLEANUP_FREE uint64_t *values = calloc(count, sizeof(*values));

	if (!values)
		return -ENOMEM;
#define MEDIAN(member) \
	.member = median_of(figures, count, offsetof(struct latency_figures, member), values)
	*ret_median = (struct latency_figures){
		MEDIAN(calls), MEDIAN(min), MEDIAN(mean),  MEDIAN(p50),
		MEDIAN(p99),   MEDIAN(max), MEDIAN(total),
	};
#undef MEDIAN
	return 0;
}

uint64_t latency_calls_per_second(const struct latency_figures *figures)
{
	return per_second(figures->calls, figures->total);
}
