/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DECIMAL_H
#define FASTPATH_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read the decimal digits at *TEXT, up to END, and move *TEXT after them. This is for numbers that
 * the kernel prints: they have no blank or sign before them and need no NUL byte after them.
 * Returns false if there are none, or if the number is too large.
 */
bool decimal_read(const char **text, const char *end, uint64_t *ret_number);

/* Long enough for any number, and a NUL byte. */
#define DECIMAL_TEXT_SIZE 21

/* Write NUMBER to TEXT, as "%" PRIu64 does. Returns the number of digits. */
size_t decimal_write(char text[DECIMAL_TEXT_SIZE], uint64_t number);

#endif
