// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture.h"
#include "test.h"
#include "ui/table.h"

static const struct table_column columns[] = {
	{ "NUMBER", 8, false },
	{ "NAME", 10, true },
};

static int add_row(struct table *table, const char *number, const char *name)
{
	return table_begin_row(table) || table_cell(table, number) || table_cell(table, name);
}

static void test_few_rows(void **state)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed = 0;

	(void)state;
	capture_begin();
	failed |= table_new(&table, columns, ARRAY_SIZE(columns));
	failed |= add_row(table, "1", "one");
	failed |= add_row(table, "1000", "a thousand and more");
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_string_equal(text, "  NUMBER NAME\n"
				  "       1 one\n"
				  "    1000 a thousand and more\n");
}

static char *print_odd_name(void)
{
	struct table *table;
	int failed = 0;
	char *text;

	capture_begin();
	failed |= table_new(&table, columns, ARRAY_SIZE(columns));
	failed |= add_row(table, "1", "back\\slash \033[1m \xe2\x80\xae \xff \xc3\xa4");
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	return text;
}

static void test_names_are_escaped(void **state)
{
	static const char *const expected[][2] = {
		{ "C", " back\\\\slash \\x1b[1m \\xe2\\x80\\xae \\xff \\xc3\\xa4\n" },
		{ "C.UTF-8", " back\\\\slash \\x1b[1m \\xe2\\x80\\xae \\xff \xc3\xa4\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		CLEANUP_FREE char *text = NULL;

		assert_non_null(setlocale(LC_CTYPE, expected[i][0]));
		text = print_odd_name();
		setlocale(LC_CTYPE, "C");
		assert_non_null(strstr(text, expected[i][1]));
	}
}

static void test_numbers(void **state)
{
	const struct size_format fitting = { SIZE_IEC, 0 };
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

	(void)state;
	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	failed |= table_begin_row(table);
	failed |= table_number_cell(table, UINT64_MAX);
	failed |= table_size_cell(table, KIB(1) + 512, fitting);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_non_null(strstr(text, "18446744073709551615 1.50KiB\n"));
}

static void test_no_rows(void **state)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

	(void)state;
	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	failed |= table_flush(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_string_equal(text, "");
}

/* Rows that come in several parts look as if they came in one. */
static void test_many_rows(void **state)
{
	const size_t row_count = 2000;
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;
	char *line;

	(void)state;
	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < row_count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "%zu", i);
		failed |= add_row(table, number, "x");
		if (i % 700 == 0)
			failed |= table_flush(table);
	}
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);

	line = strtok(text, "\n");
	assert_string_equal(line, "  NUMBER NAME");
	for (size_t i = 0; i < row_count; i++) {
		char expected[32];

		snprintf(expected, sizeof(expected), "%8zu x", i);
		line = strtok(NULL, "\n");
		assert_non_null(line);
		/* the last column may be filled up */
		line[strcspn(line, "x") + 1] = '\0';
		assert_string_equal(line, expected);
	}
	assert_null(strtok(NULL, "\n"));
}

/* What failed once is told when the table is asked, and nothing is printed after it. */
static void test_errors_stick(void **state)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

	(void)state;
	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	add_row(table, "1", "one");
	failed |= table_error(table);
	table_cell(table, "a third cell");
	assert_int_equal(table_error(table), -EINVAL);
	add_row(table, "2", "two");
	assert_int_equal(table_error(table), -EINVAL);
	assert_int_equal(table_flush(table), -EINVAL);
	add_row(table, "3", "three");
	assert_int_equal(table_flush(table), -EINVAL);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_non_null(strstr(text, "       1 one\n"));
	assert_null(strstr(text, "two"));
	assert_null(strstr(text, "three"));
}

/* Names are longer than any terminal is wide. */
static void test_nothing_is_cut(void **state)
{
	CLEANUP_FREE char *text = NULL;
	char name[1000];
	struct table *table;
	int failed;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	setenv("COLUMNS", "20", 1);
	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	failed |= add_row(table, "18446744073709551615", name);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_non_null(strstr(text, "18446744073709551615 "));
	assert_non_null(strstr(text, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_rows),     cmocka_unit_test(test_names_are_escaped),
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_many_rows),    cmocka_unit_test(test_nothing_is_cut),
		cmocka_unit_test(test_errors_stick),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
