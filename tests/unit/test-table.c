// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/table.h"

static const struct table_column columns[] = {
	{ "NUMBER", 8, false },
	{ "NAME", 10, true },
};

static void add_row(struct table *table, const char *number, const char *name)
{
	table_begin_row(table);
	table_cell(table, number);
	table_cell(table, name);
}

TEST(test_few_rows)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed = 0;

	capture_begin();
	failed |= table_new(&table, columns, ARRAY_SIZE(columns));
	add_row(table, "1", "one");
	add_row(table, "1000", "a thousand and more");
	failed |= table_error(table);
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
	add_row(table, "1", "back\\slash \033[1m \xe2\x80\xae \xff \xc3\xa4");
	failed |= table_error(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	return text;
}

TEST(test_names_are_escaped)
{
	static const char *const expected[][2] = {
		{ "C", " back\\\\slash \\x1b[1m \\xe2\\x80\\xae \\xff \\xc3\\xa4\n" },
		{ "C.UTF-8", " back\\\\slash \\x1b[1m \\xe2\\x80\\xae \\xff \xc3\xa4\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		CLEANUP_FREE char *text = NULL;

		assert_non_null(setlocale(LC_CTYPE, expected[i][0]));
		text = print_odd_name();
		setlocale(LC_CTYPE, "C");
		assert_non_null(strstr(text, expected[i][1]));
	}
}

TEST(test_numbers)
{
	const struct size_format fitting = { SIZE_IEC, 0 };
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	table_begin_row(table);
	table_number_cell(table, UINT64_MAX);
	table_size_cell(table, KIB(1) + 512, fitting);
	failed |= table_error(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_non_null(strstr(text, "18446744073709551615 1.50KiB\n"));
}

TEST(test_no_rows)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	failed |= table_flush(table);
	failed |= table_error(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_string_equal(text, "");
}

/* Rows that come in several parts look as if they came in one, whichever way they are printed. */
TEST(test_many_rows)
{
	const size_t row_count = 2000;
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;
	char *line;

	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < row_count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "%zu", i);
		add_row(table, number, "x");
		if (i % 700 == 0)
			failed |= table_flush(table);
	}
	failed |= table_error(table);
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

#define LAID_OUT 500

static const struct table_column four_columns[] = {
	{ "NUMBER", 8, false },
	{ "NAME", 10, true },
	{ "MIDDLE", 4, false },
	{ "LAST", 12, true },
};

/* The rows of one table, its first row blank so that the widths are those that were asked for. */
static char *print_names(const char *const *names, size_t count, size_t rows_before)
{
	struct table *table;
	int failed;
	char *text;

	capture_begin();
	failed = table_new(&table, four_columns, ARRAY_SIZE(four_columns));
	for (size_t i = 0; i < rows_before; i++)
		table_begin_row(table);
	for (size_t i = 0; i < count; i++) {
		table_begin_row(table);
		table_number_cell(table, i);
		for (size_t column = 0; column < 3; column++)
			table_cell(table, names[i]);
	}
	failed |= table_error(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	return text;
}

static const char *skip_lines(const char *text, size_t count)
{
	for (; count; count--) {
		text = strchr(text, '\n');
		assert_non_null(text);
		text++;
	}
	return text;
}

/* Rows that libsmartcols printed, and those that were printed without it, are the same. */
TEST(test_both_kinds_of_rows_look_alike)
{
	static const char *const names[] = {
		"",
		"x",
		"gr\xc3\xbc\xc3\x9f",
		"\xe6\xbc\xa2\xe5\xad\x97",
		"e\xcc\x81",
		"back\\slash",
		"\xff",
		"\xcd\xb8",
		"\xf0\x9f\x98\x80",
		"\033[1m",
		"123456789",
	};
	static const char *const locales[] = { "C", "C.UTF-8" };

	for (size_t i = 0; i < ARRAY_SIZE(locales); i++) {
		for (size_t name = 0; name < ARRAY_SIZE(names); name++) {
			const char *pair[] = { names[name], names[name] };
			CLEANUP_FREE char *first = NULL;
			CLEANUP_FREE char *later = NULL;

			assert_non_null(setlocale(LC_CTYPE, locales[i]));
			/* the first of the pair decides the widths of both */
			first = print_names(pair, 2, 0);
			later = print_names(pair, 2, LAID_OUT - 1);
			setlocale(LC_CTYPE, "C");
			assert_string_equal(skip_lines(first, 1), skip_lines(later, LAID_OUT));
		}
	}
}

/* The widths are those of the first rows, and of what was wider later. */
TEST(test_later_widths)
{
	static const char *const names[] = { "a name that is too wide", "x" };
	CLEANUP_FREE char *text = print_names(names, 2, LAID_OUT);

	assert_string_equal(skip_lines(text, LAID_OUT + 1),
			    "       0 a name that is too wide a name that is too wide "
			    "a name that is too wide\n"
			    "       1 x                                             x x\n");
}

TEST(test_rows_with_few_cells)
{
	CLEANUP_FREE char *text = print_names(NULL, 0, LAID_OUT + 2);

	assert_string_equal(skip_lines(text, LAID_OUT), "                            \n"
							"                            \n"
							"                            \n");
}

/* Longer than what is printed at once. */
TEST(test_long_later_name)
{
	const size_t length = 200000;
	CLEANUP_FREE char *name = malloc(length + 1);
	CLEANUP_FREE char *text = NULL;
	const char *row;

	assert_non_null(name);
	for (size_t i = 0; i < length; i++)
		name[i] = 'a' + i % 26;
	name[length] = '\0';
	text = print_names((const char *const *)&name, 1, LAID_OUT);
	row = skip_lines(text, LAID_OUT + 1);
	assert_int_equal(strlen(row), strlen("       0 ") + 3 * length + 3);
	assert_memory_equal(row + strlen("       0 "), name, length);
	assert_memory_equal(row + strlen(row) - 1 - length, name, length);
}

/* A cell too many is told of later rows, too. */
TEST(test_later_errors_stick)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	add_row(table, "1", "one");
	failed |= table_flush(table);
	add_row(table, "2", "two");
	table_cell(table, "a third cell");
	assert_int_equal(table_error(table), -EINVAL);
	add_row(table, "3", "three");
	assert_int_equal(table_flush(table), -EINVAL);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_string_equal(text, "  NUMBER NAME\n"
				  "       1 one\n"
				  "       2 two\n");
}

/* What failed once is told when the table is asked, and nothing is printed after it. */
TEST(test_errors_stick)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed;

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
	assert_string_equal(text, "  NUMBER NAME\n"
				  "       1 one\n");
}

/* Names are longer than any terminal is wide. */
TEST(test_nothing_is_cut)
{
	CLEANUP_FREE char *text = NULL;
	char name[1000];
	struct table *table;
	int failed;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	setenv("COLUMNS", "20", 1);
	capture_begin();
	failed = table_new(&table, columns, ARRAY_SIZE(columns));
	add_row(table, "18446744073709551615", name);
	failed |= table_error(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_non_null(strstr(text, "18446744073709551615 "));
	assert_non_null(strstr(text, name));
}

/* -- a terminal -- */

size_t __wrap_terminal_width(void);

/* 0: it is none */
static size_t width_of_terminal;

size_t __wrap_terminal_width(void)
{
	return width_of_terminal;
}

static const struct table_column wide_columns[] = {
	{ "SIZE", 10, false },
	{ "NONE", 10, false },
	{ "COUNT", 10, false },
	{ "PATH", 0, true },
};

/* A table of COUNT rows; the column NONE is not 0 in the row ODD alone. */
static char *print_on(size_t terminal, size_t count, size_t odd)
{
	struct table *table;
	int failed = 0;
	char *text;

	width_of_terminal = terminal;
	capture_begin();
	failed |= TABLE_NEW(&table, wide_columns);
	for (size_t i = 0; i < count; i++) {
		table_begin_row(table);
		table_cell(table, "1.00MiB");
		table_cell(table, i == odd ? "0.01B" : i ? "-" : "0.00B");
		table_number_cell(table, 10);
		table_cell(table, "x");
	}
	failed |= table_end(&table);
	text = capture_end();
	width_of_terminal = 0;
	assert_int_equal(failed, 0);
	return text;
}

#define ALL_COLUMNS "      SIZE       NONE      COUNT PATH\n"

TEST(test_terminal)
{
	CLEANUP_FREE char *none = print_on(0, 2, 9), *wide = print_on(38, 2, 9);
	CLEANUP_FREE char *tight = print_on(37, 2, 9), *tightest = print_on(24, 2, 9);
	CLEANUP_FREE char *narrow = print_on(23, 2, 9), *needed = print_on(5, 2, 1);

	assert_string_equal(none, ALL_COLUMNS "   1.00MiB      0.00B         10 x\n"
					      "   1.00MiB          -         10 x\n");
	assert_string_equal(wide, none);
	assert_string_equal(tight, "   SIZE  NONE COUNT PATH\n"
				   "1.00MiB 0.00B    10 x\n"
				   "1.00MiB     -    10 x\n");
	assert_string_equal(tightest, tight);
	assert_string_equal(narrow, "   SIZE COUNT PATH\n"
				    "1.00MiB    10 x\n"
				    "1.00MiB    10 x\n"
				    "Empty columns not\n"
				    "shown: NONE\n");
	/* a column with something stays, and no text is cut */
	assert_string_equal(needed, "   SIZE  NONE COUNT PATH\n"
				    "1.00MiB 0.00B    10 x\n"
				    "1.00MiB 0.01B    10 x\n");
}

/* What a later row has is not known when the first ones are printed: no column is left out. */
TEST(test_terminal_many_rows)
{
	CLEANUP_FREE char *text = print_on(18, 501, 500), *wide = print_on(38, 501, 500);

	assert_true(strncmp(wide, ALL_COLUMNS, strlen(ALL_COLUMNS)) == 0);
	assert_non_null(strstr(wide, "   1.00MiB      0.01B         10 x\n"));
	assert_true(strncmp(text, "   SIZE  NONE COUNT PATH\n", 25) == 0);
	assert_non_null(strstr(text, "1.00MiB     -    10 x\n1.00MiB 0.01B    10 x\n"));
}

static const struct table_column sum_columns[] = {
	{ "SIZE", 10, false }, { "DATA", 10, false }, { "HOLES IN IT", 10, false },
	{ "NONE", 10, false }, { "WHY", 10, true },   { "PATH", 0, true },
};

/* Cells of one width, COUNT files, and the total; PATH is that of a file. */
static char *print_sums_on(size_t terminal, size_t count, const char *size, const char *path)
{
	struct table *table;
	int failed = 0;
	char *text;

	width_of_terminal = terminal;
	capture_begin();
	failed |= TABLE_NEW(&table, sum_columns);
	table_shorten(table, "HOLES IN IT", "HOLES");
	table_shorten(table, "NO SUCH COLUMN", "X");
	for (size_t i = 0; i <= count; i++) {
		table_begin_row(table);
		for (size_t column = 0; column < 4; column++)
			table_cell(table, column == 3 ? "0" : size);
		if (i == count)
			table_spare(table);
		table_cell(table, i < count ? "y" : "of all files");
		table_cell(table, i < count ? path : "total");
	}
	failed |= table_end(&table);
	text = capture_end();
	width_of_terminal = 0;
	assert_int_equal(failed, 0);
	return text;
}

/* Step by step, and no further than there is need. */
TEST(test_steps)
{
	CLEANUP_FREE char *all = print_sums_on(80, 1, "1.00B", "x");
	CLEANUP_FREE char *spared = print_sums_on(38, 1, "1.00B", "x");
	CLEANUP_FREE char *shortened = print_sums_on(37, 1, "1.00B", "x");
	CLEANUP_FREE char *left_out = print_sums_on(31, 1, "1.00B", "x");
	CLEANUP_FREE char *later = print_sums_on(32, LAID_OUT, "1.00B", "x");

	assert_non_null(strstr(all, "of all files total\n"));
	assert_string_equal(spared, " SIZE  DATA HOLES IN IT NONE WHY PATH\n"
				    "1.00B 1.00B       1.00B    0 y   x\n"
				    "1.00B 1.00B       1.00B    0     total\n");
	assert_string_equal(shortened, " SIZE  DATA HOLES NONE WHY PATH\n"
				       "1.00B 1.00B 1.00B    0 y   x\n"
				       "1.00B 1.00B 1.00B    0     total\n");
	assert_string_equal(left_out, " SIZE  DATA HOLES WHY PATH\n"
				      "1.00B 1.00B 1.00B y   x\n"
				      "1.00B 1.00B 1.00B     total\n"
				      "Empty columns not shown: NONE\n");
	assert_non_null(strstr(later, "\n1.00B 1.00B 1.00B    0     total\n"));
}

/* Where all are empty: the last ones go first, the first one stays, and the line about them fits. */
TEST(test_nothing_at_all)
{
	CLEANUP_FREE char *one = print_sums_on(28, 1, "0", "x"),
			  *most = print_sums_on(9, 1, "-", "x");

	assert_string_equal(one, "SIZE DATA HOLES WHY PATH\n"
				 "   0    0     0 y   x\n"
				 "   0    0     0     total\n"
				 "Empty columns not shown:\n"
				 "NONE\n");
	assert_string_equal(most, "SIZE WHY PATH\n"
				  "   - y   x\n"
				  "   -     total\n"
				  "Empty\n"
				  "columns\n"
				  "not\n"
				  "shown:\n"
				  "DATA,\n"
				  "HOLES IN\n"
				  "IT, NONE\n");
}

/* A name that cannot fit is no reason to leave out what fits before it. */
TEST(test_long_path)
{
	const char *path = "a-name-that-is-wider-than-any-terminal";
	CLEANUP_FREE char *fits = print_sums_on(32, 1, "1.00B", path);
	CLEANUP_FREE char *shorter = print_sums_on(31, 1, "1.00B", path);
	CLEANUP_FREE char *less = print_sums_on(25, 1, "1.00B", path);

	assert_non_null(strstr(fits, " SIZE  DATA HOLES IN IT NONE WHY PATH"));
	assert_non_null(strstr(shorter, " SIZE  DATA HOLES NONE WHY PATH"));
	assert_non_null(strstr(less, " SIZE  DATA HOLES WHY PATH"));
}

TEST(test_finished)
{
	CLEANUP_FREE char *text = NULL;
	struct table *table;
	int failed = 0, late;

	capture_begin();
	failed |= table_new(&table, columns, ARRAY_SIZE(columns));
	add_row(table, "1", "one");
	failed |= table_finish(table);
	add_row(table, "2", "two");
	late = table_error(table);
	table_free(table);
	text = capture_end();
	assert_int_equal(failed, 0);
	assert_int_equal(late, -EINVAL);
	assert_string_equal(text, "  NUMBER NAME\n"
				  "       1 one\n");
}
