/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LATENCY_H
#define FASTPATH_LATENCY_H

#include <stddef.h>
#include <stdint.h>

/* Each power of two is divided into this many buckets of the same width, as a power of two. */
#define LATENCY_BUCKET_BITS 7
#define LATENCY_BUCKETS ((65 - LATENCY_BUCKET_BITS) << LATENCY_BUCKET_BITS)

/*
 * How long each of many calls took, in nanoseconds, in constant memory. Counts, sums and extremes
 * are exact; a time below 256 ns has a bucket of its own, a longer one is known to 1 part in 128.
 * All zero is empty.
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

/* Adds what OTHER has recorded. */
void latency_add(struct latency *latency, const struct latency *other);

/*
 * The time within which PERCENT of 100 calls were done, rounded up: at most 1/128 above the time
 * of the call that decides. 0 if there was no call.
 */
uint64_t latency_percentile(const struct latency *latency, unsigned int percent);

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

/* What a series of calls adds up to. Times in nanoseconds, 0 if there was no call. */
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

/* How many such calls a second has room for, 0 if there was none. */
uint64_t latency_calls_per_second(const struct latency_figures *figures);

#endif
