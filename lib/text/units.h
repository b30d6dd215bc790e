/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_UNITS_H
#define FASTPATH_UNITS_H

#include <stdint.h>

#include "num/byte-range.h"

/* The format of sizes, as in btrfs-progs: a base of 1024 or 1000, and a fixed or a fitting unit. */
struct size_format {
	enum { SIZE_IEC, SIZE_SI, SIZE_RAW } base;
	/* 0: the largest unit that fits; else the power of the base (1: kilo … 4: tera) */
	unsigned int power;
};

/* Long enough for any size in any format, and for any time. */
#define UNITS_TEXT_SIZE 32

/*
 * Write BYTES to TEXT as "1.00MiB" (or the bare number), and return TEXT. UINT64_MAX, which a sum
 * has that is too large (see saturating.h), has ">=" before it, but for the bare number.
 */
char *format_size(char text[UNITS_TEXT_SIZE], uint64_t bytes, struct size_format format);

/* Write a time to TEXT with a fitting unit, as "1.25ms", and return TEXT. */
char *format_time(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds);

/*
 * Parse a number of bytes with an optional suffix in upper or lower case: K, M, G, T, P or E, or
 * KiB to EiB, for powers of 1024; kB to EB for powers of 1000.
 * Returns 0, -EINVAL, or -ERANGE beyond UINT64_MAX.
 */
int parse_size(const char *text, uint64_t *ret_bytes);

/*
 * Parse "OFFSET[:LENGTH]"; without LENGTH the range reaches to the end of the file.
 * Returns 0, -EINVAL (a length of 0 included), or -ERANGE.
 */
int parse_range(const char *text, struct byte_range *ret_range);

/*
 * Write a time to TEXT as people say it, and return TEXT: "2d 3h", "1h 23min", "5min 20s", "45s",
 * "2.4s". The time is rounded to the last unit or digit that is shown. A second unit that is 0 is
 * left out. Less than a second is written as format_time() writes it.
 */
char *format_duration(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds);

#endif
