// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sys/cleanup.h"
#include "sys/clock.h"
#include "text/decimal.h"
#include "text/units.h"

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
	char *start = text;

	if (format.base == SIZE_RAW) {
		decimal_write(text, bytes);
		return text;
	}

	if (bytes == UINT64_MAX)
		text = stpcpy(text, ">=");
	while (power < UNIT_COUNT - 1 && (format.power ? power < format.power : value >= step)) {
		value /= step;
		power++;
	}
	if (fits_exactly(bytes, &format))
		format_exactly(text, bytes, 10 * power, units[power]);
	else
		snprintf(text, UNITS_TEXT_SIZE - (text - start), "%.2f%s", value, units[power]);
	return start;
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

/* What the prefix of a unit multiplies by, from what follows its letter; 0: that is no unit. */
static unsigned int step_of_unit(const char *tail)
{
	if (!*tail || !strcasecmp(tail, "iB"))
		return 1024;
	return strcasecmp(tail, "B") ? 0 : 1000;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char prefixes[] = "kmgtpe";
	const char *prefix;
	unsigned int step;
	uint64_t number;
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
	prefix = strchr(prefixes, tolower((unsigned char)*end));
	step = prefix ? step_of_unit(end + 1) : 0;
	if (!step)
		return -EINVAL;
	for (const char *power = prefixes; power <= prefix; power++)
		if (__builtin_mul_overflow(number, step, &number))
			return -ERANGE;

	*ret_bytes = number;
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

/* -- durations -- */

#define TENTH (NANOSECONDS_PER_SECOND / 10)

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct duration_unit {
	uint64_t seconds;
	const char *name;
} duration_units[] = { { DAY, "d" }, { HOUR, "h" }, { MINUTE, "min" }, { 1, "s" } };

#define DURATION_UNIT_COUNT (sizeof(duration_units) / sizeof(duration_units[0]))

/* The greatest unit that fits into SECONDS, at least 1. */
static const struct duration_unit *unit_of(uint64_t seconds)
{
	const struct duration_unit *unit = duration_units;

	while (seconds < unit->seconds)
		unit++;
	return unit;
}

/* The unit that follows UNIT; seconds have none. */
static const struct duration_unit *unit_below(const struct duration_unit *unit)
{
	return unit == duration_units + DURATION_UNIT_COUNT - 1 ? unit : unit + 1;
}

/* With one digit after the point. */
static char *format_seconds(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds)
{
	unsigned int tenths = (nanoseconds + TENTH / 2) / TENTH;

	snprintf(text, UNITS_TEXT_SIZE, "%u.%us", tenths / 10, tenths % 10);
	return text;
}

char *format_duration(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds)
{
	uint64_t seconds = nanoseconds / NANOSECONDS_PER_SECOND;
	const struct duration_unit *unit, *below;
	unsigned int count, rest;
	uint64_t step;

	if (!seconds)
		return format_time(text, nanoseconds);
	/* what is rounded up to 10 s has no digit after the point */
	if (nanoseconds < 100 * TENTH - TENTH / 2)
		return format_seconds(text, nanoseconds);

	/* 64 bits of nanoseconds leave much room for rounding up their seconds */
	seconds += nanoseconds % NANOSECONDS_PER_SECOND >= NANOSECONDS_PER_SECOND / 2;
	step = unit_below(unit_of(seconds))->seconds;
	seconds = (seconds + step / 2) / step * step;

	/* which can lead to the next unit: 59min 60s is 1h */
	unit = unit_of(seconds);
	below = unit_below(unit);
	count = seconds / unit->seconds;
	rest = seconds % unit->seconds / below->seconds;
	if (rest)
		snprintf(text, UNITS_TEXT_SIZE, "%u%s %u%s", count, unit->name, rest, below->name);
	else
		snprintf(text, UNITS_TEXT_SIZE, "%u%s", count, unit->name);
	return text;
}
