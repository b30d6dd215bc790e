/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MUL_DIV_H
#define FASTPATH_MUL_DIV_H

#include <stdint.h>

/*
 * A * B / DIVISOR, rounded down, also where the product does not fit into 64 bits; UINT64_MAX if
 * the quotient does not, or if DIVISOR is 0. Not every processor has numbers of 128 bits.
 */
uint64_t mul_div(uint64_t a, uint64_t b, uint64_t divisor);

/* The same, rounded up, of a part of A: B is at most DIVISOR, which is not 0. */
uint64_t mul_div_up(uint64_t a, uint64_t b, uint64_t divisor);

#endif
