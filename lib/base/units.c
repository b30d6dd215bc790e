// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/decimal.h"
#include "base/units.h"

static const char *const iec_units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
static const char *const si_units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };

#define UNIT_COUNT (sizeof(iec_units) / sizeof(iec_units[0]))

/*
 * BYTES in units of 2^SHIFT of them, with two digits as "%.2f" has them: rounded to the nearest, or
 * to the even one.
 */
static void format_exactly(char text[UNITS_TEXT_SIZE], uint64_t bytes, unsigned int shift,
			   const char *unit)
{
	uint64_t scaled = 100 * bytes;
	uint64_t hundredths = scaled >> shift;
	uint64_t rest = scaled - (hundredths << shift);
	uint64_t half = (UINT64_C(1) << shift) / 2;
	char *out;

	if (rest > half || (rest == half && rest && hundredths % 2))
		hundredths++;
	out = text + decimal_write(text, hundredths / 100);
	*out++ = '.';
	*out++ = '0' + hundredths / 10 % 10;
	*out++ = '0' + hundredths % 10;
	strcpy(out, unit);
}

/* "%.2f" is slow where each of many rows has a size; a double has these numbers exactly, too. */
static bool fits_exactly(uint64_t bytes, const struct size_format *format)
{
	return format->base == SIZE_IEC && bytes < UINT64_C(1) << 53;
}

char *format_size(char text[UNITS_TEXT_SIZE], uint64_t bytes, struct size_format format)
{
	const char *const *units = format.base == SIZE_SI ? si_units : iec_units;
	const double step = format.base == SIZE_SI ? 1000.0 : 1024.0;
	double value = bytes;
	unsigned int power = 0;

	if (format.base == SIZE_RAW) {
		decimal_write(text, bytes);
		return text;
	}

	while (power < UNIT_COUNT - 1 && (format.power ? power < format.power : value >= step)) {
		value /= step;
		power++;
	}
	if (fits_exactly(bytes, &format))
		format_exactly(text, bytes, 10 * power, units[power]);
	else
		snprintf(text, UNITS_TEXT_SIZE, "%.2f%s", value, units[power]);
	return text;
}

char *format_time(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = nanoseconds;
	unsigned int power = 0;

	while (power < 3 && value >= 1000.0) {
		value /= 1000.0;
		power++;
	}
	snprintf(text, UNITS_TEXT_SIZE, power ? "%.2f%s" : "%.0f%s", value, units[power]);
	return text;
}

static bool is_unit_tail(const char *tail)
{
	return !*tail || !strcasecmp(tail, "iB") || !strcasecmp(tail, "B");
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char suffixes[] = "kmgtpe";
	const char *suffix;
	uintmax_t number;
	unsigned int shift;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	number = strtoumax(text, &end, 10);
	if (errno)
		return -errno;

	if (!*end || !strcasecmp(end, "B")) {
		*ret_bytes = number;
		return 0;
	}
	suffix = strchr(suffixes, tolower((unsigned char)*end));
	if (!suffix || !is_unit_tail(end + 1))
		return -EINVAL;
	shift = 10 * (suffix - suffixes + 1);
	if (number > UINT64_MAX >> shift)
		return -ERANGE;

	*ret_bytes = number << shift;
	return 0;
}

int parse_range(const char *text, struct byte_range *ret_range)
{
	CLEANUP_FREE char *offset_text = NULL;
	struct byte_range range = WHOLE_FILE;
	const char *colon = strchr(text, ':');
	int ret;

	offset_text = colon ? strndup(text, colon - text) : strdup(text);
	if (!offset_text)
		return -ENOMEM;
	ret = parse_size(offset_text, &range.offset);
	if (ret < 0)
		return ret;
	if (colon && colon[1]) {
		ret = parse_size(colon + 1, &range.length);
		if (ret < 0)
			return ret;
	}
	if (!range.length)
		return -EINVAL;

	*ret_range = range;
	return 0;
}
