/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_QUARTILES_H
#define FASTPATH_QUARTILES_H

#include <stddef.h>
#include <stdint.h>

/* The median of COUNT VALUES, at least one; of two in the middle the larger. Sorts VALUES. */
uint64_t median(uint64_t *values, size_t count);

/* The bounds of the middle half of several values, and their median. */
struct quartiles {
	uint64_t low;
	uint64_t median;
	uint64_t high;
};

/* The quartiles of COUNT VALUES, at least one; each is one of the values. Sorts VALUES. */
struct quartiles quartiles_of(uint64_t *values, size_t count);

#endif
