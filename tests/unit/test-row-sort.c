// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cleanup.h"
#include "test.h"
#include "ui/row-sort.h"

struct figures {
	uint64_t bytes;
	uint64_t extents;
};

static const struct field keys[] = {
	{ offsetof(struct figures, bytes), FIELD_SIZE, .sort = "bytes" },
	{ offsetof(struct figures, extents), FIELD_NUMBER, .sort = "extents" },
	{ 0, FIELD_PATH, .sort = "path" },
	{ 0, FIELD_NUMBER, .title = "None" },
	{ 0 },
};

static struct path_store store;

static void add(struct row_sort *sort, const char *path, const struct figures *figures)
{
	struct path_node *node = path_node_new(&store, NULL, path);

	assert_non_null(node);
	assert_int_equal(row_sort_add(sort, node, figures, figures), 0);
	path_node_release(node);
}

static int check_store(void **state)
{
	(void)state;
	return store.size ? -1 : 0;
}

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
static void assert_order(const struct field *key, uint64_t top, const char *expected)
{
	const struct sort_options options = { .fields = keys, .key = key, .top = top };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	char text[64] = "";

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct figures figures = { rows[i].bytes, (uint64_t)rows[i].path[0] };

		add(sort, rows[i].path, &figures);
	}
	assert_int_equal(row_sort_report(sort, gather, text), 0);
	assert_string_equal(text, expected);
}

TEST_WITH(test_order, NULL, check_store)
{
	assert_order(&keys[0], 0, "d,e,a,b,f,c,");
	assert_order(&keys[1], 0, "f,e,d,c,b,a,");
	assert_order(&keys[2], 0, "a,b,c,d,e,f,");
}

/* The options --sort KEY, or --top 2 if it is NULL. Returns what parsing them returns. */
static error_t parse(const char *key, struct sort_options *ret_options)
{
	char program[] = "test", sort[] = "--sort", top[] = "--top", two[] = "2";
	char *argv[] = { program, key ? sort : top, key ? (char *)key : two, NULL };

	*ret_options = (struct sort_options){ .fields = keys, .usual = "bytes" };
	return argp_parse(&sort_argp, 3, argv, ARGP_NO_EXIT | ARGP_SILENT, NULL, ret_options);
}

TEST(test_options)
{
	struct sort_options options;

	assert_int_equal(parse("extents", &options), 0);
	assert_ptr_equal(options.key, &keys[1]);
	assert_int_equal(parse("path", &options), 0);
	assert_ptr_equal(options.key, &keys[2]);
	assert_int_equal(parse(NULL, &options), 0);
	assert_ptr_equal(options.key, &keys[0]);
	assert_int_equal(options.top, 2);
	assert_int_equal(parse("Bytes", &options), EINVAL);
	assert_int_equal(parse("", &options), EINVAL);
	assert_null(options.key);
}

TEST_WITH(test_top, NULL, check_store)
{
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
TEST_WITH(test_many_rows, NULL, check_store)
{
	static const size_t tops[] = { 1, 2, 63, 64, 65, 999, 1000 };
	unsigned int numbers[1000];

	for (size_t t = 0; t < ARRAY_SIZE(tops); t++) {
		const struct sort_options options = { .fields = keys,
						      .key = &keys[0],
						      .top = tops[t] };
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
			add(sort, name, &figures);
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

TEST_WITH(test_error_of_report, NULL, check_store)
{
	const struct sort_options options = { .fields = keys, .key = &keys[2] };
	const struct figures figures = { 0 };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	int calls = 0;

	assert_int_equal(row_sort_new(&sort, &options, sizeof(figures)), 0);
	assert_int_equal(row_sort_report(sort, fail_at_b, &calls), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(sort, rows[i].path, &figures);
	assert_int_equal(row_sort_report(sort, fail_at_b, &calls), -EIO);
	assert_int_equal(calls, 2);
}

struct expected_rows {
	uint64_t next;
	uint64_t count;
};

static int expect_next(void *data, const char *path, void *row)
{
	struct expected_rows *expected = data;

	assert_int_equal(strlen(path), PATH_MAX);
	assert_int_equal(((struct figures *)row)->bytes, expected->next--);
	expected->count++;
	return 0;
}

static char *path_of(size_t length)
{
	char *path = malloc(length + 1);

	assert_non_null(path);
	memset(path, 'x', length);
	path[length] = '\0';
	return path;
}

/* As many of the first rows are kept as the memory for paths allows, and it is counted. */
TEST_WITH(test_memory_of_paths, NULL, check_store)
{
	const struct sort_options options = { .fields = keys, .key = &keys[0] };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	CLEANUP_FREE char *path = path_of(PATH_MAX);
	struct expected_rows expected = { 19996, 0 };
	size_t largest = 0;

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	for (uint64_t i = 0; i < 19997; i++) {
		const struct figures figures = { i * 37 % 19997, 0 };

		add(sort, path, &figures);
		largest = store.size > largest ? store.size : largest;
	}
	assert_in_range(largest, ROW_SORT_PATHS_SIZE_MAX / 2, ROW_SORT_PATHS_SIZE_MAX + (2 << 20));
	assert_int_equal(row_sort_report(sort, expect_next, &expected), 0);
	assert_in_range(expected.count, 7800, 8192);
}

/* Rows with long paths are left out, wherever they come in order, and the others stay. */
static void assert_long_paths(uint64_t top, const char *expected)
{
	const struct sort_options options = { .fields = keys, .key = &keys[0], .top = top };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	CLEANUP_FREE char *path = path_of(ROW_SORT_PATHS_SIZE_MAX + 1);
	const struct figures longs[] = { { 4, 'x' }, { 100, 'x' }, { 0, 'x' } };
	char text[64] = "";

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct figures figures = { rows[i].bytes, (uint64_t)rows[i].path[0] };

		add(sort, rows[i].path, &figures);
		if (i < ARRAY_SIZE(longs))
			add(sort, path, &longs[i]);
	}
	assert_true(store.size < (1 << 20));
	assert_int_equal(row_sort_report(sort, gather, text), top > 0);
	assert_string_equal(text, expected);
}

TEST_WITH(test_long_paths, NULL, check_store)
{
	assert_long_paths(0, "d,e,a,b,f,c,");
	assert_long_paths(6, "d,e,a,b,f,c,");
	assert_long_paths(2, "d,e,");
}

/* "a" and "b" were left out before the two long paths were too much together. */
TEST_WITH(test_rows_left_out_before_long_paths, NULL, check_store)
{
	static const struct figures figures[] = {
		{ 3, 'a' },  { 2, 'b' },  { 9, 'c' }, { 100, 'x' },
		{ 99, 'x' }, { 10, 'd' }, { 3, 'e' },
	};
	const struct sort_options options = { .fields = keys, .key = &keys[0], .top = 3 };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	CLEANUP_FREE char *path = path_of(17 << 20);
	char text[64] = "";

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		const char name[] = { (char)figures[i].extents, '\0' };

		add(sort, *name == 'x' ? path : name, &figures[i]);
	}
	assert_int_equal(row_sort_report(sort, gather, text), 1);
	assert_string_equal(text, "d,c,");
}

/* "a" was left out for rows that are left out later, and is no longer known. */
TEST_WITH(test_all_rows_have_long_paths, NULL, check_store)
{
	const struct sort_options options = { .fields = keys, .key = &keys[0], .top = 2 };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	CLEANUP_FREE char *path = path_of(16 << 20), *longer = path_of(20 << 20);
	char text[64] = "";

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	add(sort, "a", &(struct figures){ 3, 'a' });
	add(sort, path, &(struct figures){ 100, 'x' });
	add(sort, path, &(struct figures){ 99, 'x' });
	add(sort, longer, &(struct figures){ 101, 'x' });
	add(sort, "b", &(struct figures){ 2, 'b' });
	add(sort, "c", &(struct figures){ 50, 'c' });
	assert_int_equal(row_sort_report(sort, gather, text), 1);
	assert_string_equal(text, "c,");
}

/* Paths that others hold are no reason to leave out a row. */
TEST_WITH(test_paths_of_others, NULL, check_store)
{
	const struct sort_options options = { .fields = keys, .key = &keys[0] };
	CLEANUP(row_sort_freep) struct row_sort *sort = NULL;
	CLEANUP_FREE char *path = path_of(ROW_SORT_PATHS_SIZE_MAX + 1);
	struct path_node *other = path_node_new(&store, NULL, path);
	char text[64] = "";

	assert_int_equal(row_sort_new(&sort, &options, sizeof(struct figures)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct figures figures = { rows[i].bytes, (uint64_t)rows[i].path[0] };

		add(sort, rows[i].path, &figures);
	}
	path_node_release(other);
	assert_int_equal(row_sort_report(sort, gather, text), 0);
	assert_string_equal(text, "d,e,a,b,f,c,");
}
