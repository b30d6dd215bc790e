/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MEDIAN_H
#define FASTPATH_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* The median of COUNT VALUES, at least one; of two in the middle the larger. Sorts VALUES. */
uint64_t median(uint64_t *values, size_t count);

#endif
