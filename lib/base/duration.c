// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/duration.h"

#define TENTH (NANOSECONDS_PER_SECOND / 10)

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct unit {
	uint64_t seconds;
	const char *name;
} units[] = { { DAY, "d" }, { HOUR, "h" }, { MINUTE, "min" }, { 1, "s" } };

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

/* The greatest unit that fits into SECONDS, at least 1. */
static const struct unit *unit_of(uint64_t seconds)
{
	const struct unit *unit = units;

	while (seconds < unit->seconds)
		unit++;
	return unit;
}

/* The unit that comes second beside UNIT; seconds are shown alone. */
static const struct unit *unit_below(const struct unit *unit)
{
	return unit == units + UNIT_COUNT - 1 ? unit : unit + 1;
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
	const struct unit *unit, *below;
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
