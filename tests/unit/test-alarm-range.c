// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "num/alarm-range.h"
#include "test.h"

static void expect_parsed(const char *text, double start, double end, bool is_inverted)
{
	struct alarm_range range;

	assert_int_equal(alarm_range_parse(text, &range), 0);
	assert_true(range.start == start);
	assert_true(range.end == end);
	assert_int_equal(range.is_inverted, is_inverted);
}

TEST(test_parse)
{
	expect_parsed("10", 0, 10, false);
	expect_parsed("10:", 10, INFINITY, false);
	expect_parsed("~:10", -INFINITY, 10, false);
	expect_parsed("10:20", 10, 20, false);
	expect_parsed("@10:20", 10, 20, true);
	expect_parsed("@~:0", -INFINITY, 0, true);
	expect_parsed("-5:-1.5", -5, -1.5, false);
	expect_parsed(":7", 0, 7, false);
	expect_parsed("~:", -INFINITY, INFINITY, false);
	expect_parsed("0", 0, 0, false);
	expect_parsed("+0.25", 0, 0.25, false);
	expect_parsed("3:3", 3, 3, false);
}

TEST(test_parse_errors)
{
	static const char *const texts[] = {
		"",   "@",     "@@1", "x",    "1x",  " 1",   "1 ",    "1:2:3", "1::2",
		"~",  "~5",    "~5:", "~~:1", "1:~", "0x10", "inf",   "nan",   "1e3",
		".5", "1.2.3", "--1", "1:2@", "1ms", "10%",  "1:inf", "1,5",   "1:\n2",
	};
	struct alarm_range range = { .start = 77 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(alarm_range_parse(texts[i], &range), -EINVAL);
	assert_int_equal(alarm_range_parse("20:10", &range), -ERANGE);
	assert_int_equal(alarm_range_parse("-1", &range), -ERANGE);
	assert_int_equal(alarm_range_parse("99999999999999999999", &range), -ERANGE);
	assert_int_equal(alarm_range_parse("-99999999999999999999:0", &range), -ERANGE);
	assert_true(range.start == 77);
}

static bool alerts(const char *text, double value)
{
	struct alarm_range range;

	assert_int_equal(alarm_range_parse(text, &range), 0);
	return alarm_range_alerts(&range, value);
}

/* The examples of the guidelines, and both ends. */
TEST(test_alerts)
{
	assert_true(alerts("10", -0.1));
	assert_false(alerts("10", 0));
	assert_false(alerts("10", 10));
	assert_true(alerts("10", 10.1));

	assert_true(alerts("10:", 9.9));
	assert_false(alerts("10:", 10));
	assert_false(alerts("10:", 1e300));

	assert_false(alerts("~:10", -1e300));
	assert_false(alerts("~:10", 10));
	assert_true(alerts("~:10", 10.1));

	assert_true(alerts("10:20", 9.9));
	assert_false(alerts("10:20", 10));
	assert_false(alerts("10:20", 20));
	assert_true(alerts("10:20", 20.1));

	assert_false(alerts("@10:20", 9.9));
	assert_true(alerts("@10:20", 10));
	assert_true(alerts("@10:20", 20));
	assert_false(alerts("@10:20", 20.1));
}
