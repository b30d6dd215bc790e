/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SATURATING_ADD_H
#define FASTPATH_SATURATING_ADD_H

#include <stdint.h>

/* Sums of untrusted lengths stop at UINT64_MAX instead of starting again at 0. */
static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
