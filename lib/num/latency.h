/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LATENCY_H
#define FASTPATH_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each power of two is divided into this many buckets of the same width, as a power of two. */
#define LATENCY_BUCKET_BITS 7
#define LATENCY_BUCKETS ((65 - LATENCY_BUCKET_BITS) << LATENCY_BUCKET_BITS)

/*
 * The times of many calls, in nanoseconds, in constant memory. The count, the sum, the minimum and
 * the maximum are exact. A time below 256 ns has a bucket of its own, and a longer one is rounded
 * by less than 1/128. If all members are 0 it is empty.
 */
struct latency {
	uint64_t count;
	uint64_t min;
	uint64_t max;
	/* UINT64_MAX if it would be more */
	uint64_t total;
	uint64_t buckets[LATENCY_BUCKETS];
};

void latency_record(struct latency *latency, uint64_t nanoseconds);

/* Adds the times recorded in OTHER. */
void latency_add(struct latency *latency, const struct latency *other);

/*
 * The percentile PERCENT of the times, rounded up by at most 1/128. 0 if there was no call.
 */
uint64_t latency_percentile(const struct latency *latency, unsigned int percent);

/*
 * Whether COUNT calls are enough for the percentile PERCENT, at most 99: of fewer it would always be
 * the slowest call. The 99th needs 100 calls.
 */
static inline bool latency_has_percentile(uint64_t count, unsigned int percent)
{
	return count >= 100 / (100 - percent);
}

/* Calls that took at least LOW_NS and less than HIGH_NS. */
struct latency_bin {
	uint64_t low_ns;
	uint64_t high_ns;
	uint64_t count;
};

#define LATENCY_BINS 64

/*
 * Bin INDEX of a histogram that has a bin for each power of two, the first for 0 and 1 ns, the
 * last up to UINT64_MAX.
 */
struct latency_bin latency_bin(const struct latency *latency, unsigned int index);

/* The figures of a series of calls. Times are in nanoseconds, and 0 if there was no call. */
struct latency_figures {
	uint64_t calls;
	uint64_t min;
	uint64_t mean;
	uint64_t p50;
	uint64_t p99;
	uint64_t max;
	uint64_t total;
};

struct latency_figures latency_figures_of(const struct latency *latency);

/*
 * The median of each figure of COUNT series, at least one.
 * Returns 0 or -ENOMEM.
 */
int latency_figures_median(const struct latency_figures *figures, size_t count,
			   struct latency_figures *ret_median);

/* The number of calls per second at this mean time, 0 if there was no call. */
uint64_t latency_calls_per_second(const struct latency_figures *figures);

#endif
