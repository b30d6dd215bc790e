/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CLOCK_H
#define FASTPATH_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "num/saturating.h"

#define NANOSECONDS_PER_SECOND 1000000000ULL
#define NANOSECONDS_PER_MILLISECOND 1000000

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

/* Nanoseconds of a clock that cannot be set. */
static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* The CPU time of this thread. */
static inline uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* COUNT in ELAPSED_NS as a rate; 0 if it took no time. */
static inline uint64_t per_second(uint64_t count, uint64_t elapsed_ns)
{
	return elapsed_ns ? mul_div(count, NANOSECONDS_PER_SECOND, elapsed_ns) : 0;
}

#endif
