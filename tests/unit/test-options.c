// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "capture.h"
#include "test.h"
#include "ui/message.h"
#include "ui/options.h"

static void test_parse_count(void **state)
{
	static const struct {
		const char *text;
		uint64_t most;
		uint64_t count;
	} cases[] = {
		{ "1", 1, 1 },
		{ "007", 7, 7 },
		{ "1000", 1000, 1000 },
		{ "18446744073709551615", UINT64_MAX, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t count = 99;

		assert_int_equal(parse_count("--repeat", cases[i].text, cases[i].most, &count), 0);
		assert_int_equal(count, cases[i].count);
	}
}

static void test_parse_count_errors(void **state)
{
	static const char *const texts[] = {
		"", "0", "-1", "+1", " 1", "1 ", "x", "1x", "1k", "0x1", "1.5", "1001", "\xd9\xa1",
	};

	uint64_t count = 99;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse_count("--repeat", texts[i], 1000, &count), EINVAL);
	assert_int_equal(parse_count("--repeat", "18446744073709551616", UINT64_MAX, &count),
			 EINVAL);
	assert_int_equal(count, 99);
}

static void assert_warned(char *option, const char *expected)
{
	char program[] = "program", verbose[] = "-v";
	char *argv[] = { program, verbose, option, NULL };
	struct global_options global = { 0 };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	assert_int_equal(options_parse(&global_argp, 3, argv, 0, &global), 0);
	warning("odd");
	text = capture_end();
	assert_string_equal(text, expected);
}

static void test_quiet(void **state)
{
	char quiet[] = "--quiet", by_name[] = "--log=quiet", standard[] = "--log=default";

	(void)state;
	assert_warned(quiet, "");
	assert_warned(standard, "WARNING: odd\n");
	assert_warned(by_name, "");
	assert_warned(standard, "WARNING: odd\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_count),
		cmocka_unit_test(test_parse_count_errors),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
