// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "test.h"
#include "ui/row-sort.h"

struct figures {
	uint64_t bytes;
	uint64_t extents;
};

static uint64_t bytes_of(const void *row)
{
	return ((const struct figures *)row)->bytes;
}

static uint64_t extents_of(const void *row)
{
	return ((const struct figures *)row)->extents;
}

static const struct sort_key keys[] = {
	{ "bytes", bytes_of },
	{ "extents", extents_of },
	{ "path", NULL },
	{ 0 },
};

/* The paths in the order in which they come, with a comma after each. */
static int gather(void *data, const char *path, void *row)
{
	char *text = data;

	assert_int_equal(((struct figures *)row)->extents, (uint64_t)path[0]);
	strcat(text, path);
	strcat(text, ",");
	return 0;
}

static const struct {
	const char *path;
	uint64_t bytes;
} rows[] = { { "b", 3 }, { "e", 9 }, { "a", 3 }, { "d", UINT64_MAX }, { "c", 0 }, { "f", 3 } };

/* EXPECTED is each path with a comma after it. */
static void assert_order(const struct sort_key *key, uint64_t top, const char *expected)
{
	const struct sort_options options = { .keys = keys, .key = key, .top = top };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	char text[64] = "";

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct figures figures = { rows[i].bytes, (uint64_t)rows[i].path[0] };

		assert_int_equal(row_sort_add(sort, rows[i].path, &figures), 0);
	}
	assert_int_equal(row_sort_report(sort, gather, text), 0);
	assert_string_equal(text, expected);
}

static void test_order(void **state)
{
	(void)state;
	assert_order(&keys[0], 0, "d,e,a,b,f,c,");
	assert_order(&keys[1], 0, "f,e,d,c,b,a,");
	assert_order(&keys[2], 0, "a,b,c,d,e,f,");
}

static void test_top(void **state)
{
	(void)state;
	assert_order(&keys[0], 1, "d,");
	assert_order(&keys[0], 3, "d,e,a,");
	assert_order(&keys[0], 4, "d,e,a,b,");
	assert_order(&keys[2], 2, "a,b,");
	assert_order(&keys[0], 6, "d,e,a,b,f,c,");
	assert_order(&keys[0], 7, "d,e,a,b,f,c,");
}

static int compare_numbers(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	if (*x % 50 != *y % 50)
		return *x % 50 < *y % 50 ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

struct expectation {
	const unsigned int *numbers;
	size_t count;
};

static int expect_number(void *data, const char *path, void *row)
{
	struct expectation *expectation = data;
	char name[16];

	(void)row;
	snprintf(name, sizeof(name), "%06u", *expectation->numbers++);
	assert_string_equal(path, name);
	expectation->count++;
	return 0;
}

/* Against qsort(), with many rows and few different figures. */
static void test_many_rows(void **state)
{
	static const size_t tops[] = { 1, 2, 63, 64, 65, 999, 1000 };
	unsigned int numbers[1000];

	(void)state;
	for (size_t t = 0; t < ARRAY_SIZE(tops); t++) {
		const struct sort_options options = { keys, &keys[0], tops[t] };
		CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
		struct expectation expectation = { numbers, 0 };

		assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
		for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
			/* each once, in no order */
			unsigned int number = i * 7919 % 1000;
			const struct figures figures = { number % 50, 0 };
			char name[16];

			numbers[i] = number;
			snprintf(name, sizeof(name), "%06u", number);
			assert_int_equal(row_sort_add(sort, name, &figures), 0);
		}
		qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare_numbers);
		assert_int_equal(row_sort_report(sort, expect_number, &expectation), 0);
		assert_int_equal(expectation.count, tops[t]);
	}
}

static int fail_at_b(void *data, const char *path, void *row)
{
	(void)row;
	++*(int *)data;
	return strcmp(path, "b") == 0 ? -EIO : 0;
}

static void test_error_of_report(void **state)
{
	const struct sort_options options = { .keys = keys, .key = &keys[2] };
	const struct figures figures = { 0 };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	int calls = 0;

	(void)state;
	assert_int_equal(row_sort_new(&sort, &options, sizeof(figures)), 0);
	assert_int_equal(row_sort_report(sort, fail_at_b, &calls), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(row_sort_add(sort, rows[i].path, &figures), 0);
	assert_int_equal(row_sort_report(sort, fail_at_b, &calls), -EIO);
	assert_int_equal(calls, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_error_of_report),
	};

	return cmocka_run_group_tests_name("row-sort", tests, NULL, NULL);
}
