/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CLOCK_H
#define FASTPATH_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NANOSECONDS_PER_SECOND 1000000000ULL

/* Nanoseconds of a clock that nobody sets. */
static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

#endif
