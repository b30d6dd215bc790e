/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SATURATING_H
#define FASTPATH_SATURATING_H

#include <stdint.h>

/* Sums of untrusted lengths stop at UINT64_MAX instead of starting again at 0. */
static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/*
 * A * B / DIVISOR, rounded down; the product can have more than 64 bits. UINT64_MAX if the quotient
 * has more than 64 bits or DIVISOR is 0. Not every processor has integers of 128 bits.
 */
uint64_t mul_div(uint64_t a, uint64_t b, uint64_t divisor);

/* The same, rounded up. B must be at most DIVISOR, and DIVISOR not 0. */
uint64_t mul_div_up(uint64_t a, uint64_t b, uint64_t divisor);

#endif
