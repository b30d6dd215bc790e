/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DECIMAL_H
#define FASTPATH_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Read the decimal digits from *TEXT on, up to END, and move *TEXT behind them: numbers that the
 * kernel prints, which have no blanks or signs before them and need not end in a NUL byte.
 * Returns false if there are none, or if the number is too large.
 */
bool decimal_read(const char **text, const char *end, uint64_t *ret_number);

#endif
