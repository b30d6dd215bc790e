/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MUL_DIV_H
#define FASTPATH_MUL_DIV_H

#include <stdint.h>

/*
 * A * B / DIVISOR, rounded down; the product can have more than 64 bits. UINT64_MAX if the quotient
 * has more than 64 bits or DIVISOR is 0. Not every processor has integers of 128 bits.
 */
uint64_t mul_div(uint64_t a, uint64_t b, uint64_t divisor);

/* The same, rounded up. B must be at most DIVISOR, and DIVISOR not 0. */
uint64_t mul_div_up(uint64_t a, uint64_t b, uint64_t divisor);

#endif
