/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_UNITS_H
#define FASTPATH_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte-range.h"

/* The format of sizes, as in btrfs-progs: a base of 1024 or 1000, and a fixed or a fitting unit. */
struct size_format {
	enum { SIZE_IEC, SIZE_SI, SIZE_RAW } base;
	/* 0: the largest unit that fits; else the power of the base (1: kilo … 4: tera) */
	unsigned int power;
};

/* Long enough for any size in any format, and for any time. */
#define UNITS_TEXT_SIZE 32

/* Write BYTES to TEXT as "1.00MiB" (or the bare number), and return TEXT. */
char *format_size(char text[UNITS_TEXT_SIZE], uint64_t bytes, struct size_format format);

/* Write a time to TEXT with a fitting unit, as "1.25ms", and return TEXT. */
char *format_time(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds);

/*
 * Parse a number of bytes with an optional suffix K, M, G, T, P or E (powers of 1024, "KiB" and
 * "kib" too). Returns 0, -EINVAL, or -ERANGE beyond UINT64_MAX.
 */
int parse_size(const char *text, uint64_t *ret_bytes);

/*
 * Parse "OFFSET[:LENGTH]"; without LENGTH the range reaches to the end of the file.
 * Returns 0, -EINVAL (a length of 0 included), or -ERANGE.
 */
int parse_range(const char *text, struct byte_range *ret_range);

#endif
