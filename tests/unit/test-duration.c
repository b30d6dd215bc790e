// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "sys/clock.h"
#include "test.h"
#include "text/units.h"

#define SECOND NANOSECONDS_PER_SECOND

TEST(test_durations)
{
	static const struct {
		uint64_t nanoseconds;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },
		{ 1500000, "1.50ms" },
		{ SECOND / 1000 * 999, "999.00ms" },
		{ SECOND, "1.0s" },
		{ SECOND + SECOND / 20 - 1, "1.0s" },
		{ SECOND + SECOND / 20, "1.1s" },
		{ 2 * SECOND + SECOND / 5 * 2, "2.4s" },
		{ 10 * SECOND - SECOND / 20 - 1, "9.9s" },
		{ 10 * SECOND - SECOND / 20, "10s" },
		{ 10 * SECOND, "10s" },
		{ 10 * SECOND + SECOND / 2, "11s" },
		{ 59 * SECOND, "59s" },
		{ 59 * SECOND + SECOND / 2, "1min" },
		{ 61 * SECOND, "1min 1s" },
		{ 3599 * SECOND, "59min 59s" },
		{ 3599 * SECOND + SECOND / 2, "1h" },
		{ 3600 * SECOND, "1h" },
		{ 3629 * SECOND, "1h" },
		{ 3630 * SECOND, "1h 1min" },
		{ 4980 * SECOND, "1h 23min" },
		{ 86369 * SECOND, "23h 59min" },
		{ 86370 * SECOND, "1d" },
		{ 183600 * SECOND, "2d 3h" },
		{ 10 * 86400 * SECOND, "10d" },
		{ UINT64_MAX, "213504d" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[UNITS_TEXT_SIZE];

		assert_string_equal(format_duration(text, cases[i].nanoseconds), cases[i].text);
	}
}
