// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "text/decimal.h"

/* Reads SIZE bytes of TEXT, and expects NUMBER and REST behind it. */
static void expect(const char *text, size_t size, uint64_t number, const char *rest)
{
	const char *at = text;
	uint64_t found = 1;

	assert_true(decimal_read(&at, text + size, &found));
	assert_int_equal(found, number);
	assert_ptr_equal(at, text + (strlen(text) - strlen(rest)));
}

static void refuse(const char *text)
{
	const char *at = text;
	uint64_t found = 1;

	assert_false(decimal_read(&at, text + strlen(text), &found));
	assert_ptr_equal(at, text);
	assert_int_equal(found, 1);
}

TEST(test_numbers)
{
	expect("0", 1, 0, "");
	expect("007 8", 5, 7, " 8");
	expect("12x", 3, 12, "x");
	expect("18446744073709551615\n", 21, UINT64_MAX, "\n");
	expect("1234", 2, 12, "34");
}

TEST(test_no_numbers)
{
	static const char *const texts[] = {
		"",
		" 1",
		"-1",
		"+1",
		"x",
		"18446744073709551616",
		"18446744073709551620",
		"99999999999999999999999",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		refuse(texts[i]);
}

TEST(test_write)
{
	static const uint64_t numbers[] = {
		0, 1, 9, 10, 99, 100, 1234567890, UINT64_MAX - 5, UINT64_MAX,
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char text[DECIMAL_TEXT_SIZE], expected[32];
		size_t length = decimal_write(text, numbers[i]);

		snprintf(expected, sizeof(expected), "%" PRIu64, numbers[i]);
		assert_string_equal(text, expected);
		assert_int_equal(length, strlen(expected));
	}
}
