// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "send/send-largest-files.h"
#include "test.h"

static struct send_largest_files *new_top(size_t most)
{
	struct send_largest_files *top;

	assert_int_equal(send_largest_files_new(&top, most), 0);
	return top;
}

static void add(struct send_largest_files *top, const char *path, uint64_t bytes)
{
	send_largest_files_add(top, path, bytes);
}

/* The list, as "path:bytes path:bytes". */
static void expect_list(struct send_largest_files *top, const char *expected)
{
	const struct send_largest_file *files;
	char text[1000] = "";
	size_t count;

	count = send_largest_files_list(top, &files);
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s:%ju", i ? " " : "",
			 files[i].path ? files[i].path : "?", (uintmax_t)files[i].bytes);
	assert_string_equal(text, expected);
}

TEST(test_most)
{
	struct send_largest_files *top = new_top(3);

	expect_list(top, "");
	add(top, "a", 5);
	add(top, "a", 6);
	expect_list(top, "a:11");
	add(top, "b", 20);
	add(top, "c", 1);
	add(top, "d", 7);
	add(top, "e", 1);
	expect_list(top, "b:20 a:11 d:7");
	/* goes on with what is in the list */
	add(top, "d", 100);
	expect_list(top, "d:107 b:20 a:11");
	send_largest_files_free(top);
}

TEST(test_equal_ones_by_name)
{
	struct send_largest_files *top = new_top(5);

	add(top, "b", 1);
	add(top, "c", 1);
	add(top, "a", 1);
	add(top, "none", 0);
	expect_list(top, "a:1 b:1 c:1");
	send_largest_files_free(top);
}

/* Where there is room for one only, the one that came first stays. */
TEST(test_tie)
{
	struct send_largest_files *top = new_top(1);

	add(top, "first", 5);
	add(top, "second", 5);
	expect_list(top, "first:5");
	add(top, "third", 6);
	expect_list(top, "third:6");
	send_largest_files_free(top);
}

TEST(test_sums_do_not_wrap)
{
	struct send_largest_files *top = new_top(1);

	add(top, "a", UINT64_MAX - 1);
	add(top, "a", 5);
	add(top, "b", 1);
	add(top, "a", 5);
	expect_list(top, "a:18446744073709551615");
	send_largest_files_free(top);
}

/* A directory's name is a part of others, and only as a whole. */
TEST(test_rename)
{
	struct send_largest_files *top = new_top(4);

	add(top, "o257-8-0", 1);
	add(top, "o257-8-0/file", 2);
	add(top, "o257-8-01", 3);
	add(top, "o257-8-0/under/way", 4);
	send_largest_files_rename(top, "o257-8-0", "d/name");
	expect_list(top, "d/name/under/way:4 o257-8-01:3 d/name/file:2 d/name:1");
	add(top, "d/name", 10);
	expect_list(top, "d/name:11 d/name/under/way:4 o257-8-01:3 d/name/file:2");
	send_largest_files_free(top);
}

/* What a rename puts before a path has no room of its own: the whole is a path, or none. */
TEST(test_rename_to_the_longest_path)
{
	struct send_largest_files *top = new_top(2);
	const struct send_largest_file *files;
	char longest[PATH_MAX];

	memset(longest, 'x', sizeof(longest));
	longest[PATH_MAX - 1 - strlen("/file")] = '\0';
	add(top, "d/file", 2);
	add(top, "d/file2", 1);
	send_largest_files_rename(top, "d", longest);
	assert_int_equal(send_largest_files_list(top, &files), 2);
	assert_int_equal(strlen(files[0].path), PATH_MAX - 1);
	assert_memory_equal(files[0].path, longest, strlen(longest));
	assert_string_equal(files[0].path + strlen(longest), "/file");
	assert_null(files[1].path);

	send_largest_files_rename(top, longest, "short");
	expect_list(top, "short/file:2 ?:1");
	/* a file without a name is none of those that come later, but makes room for them */
	add(top, "d/file2", 9);
	add(top, "", 5);
	expect_list(top, "d/file2:9 :5");
	send_largest_files_free(top);
}

/* A directory that is renamed into itself, as none can be, makes its paths longer each time. */
TEST(test_endless_renames)
{
	struct send_largest_files *top = new_top(2);

	add(top, "d/b", 1);
	add(top, "d", 1);
	for (int i = 0; i < 100000; i++)
		send_largest_files_rename(top, "d", i % 2 ? "d/12345678901234567890" : "d");
	expect_list(top, "?:1 ?:1");
	send_largest_files_free(top);
}

TEST(test_many_files_and_long_paths)
{
	struct send_largest_files *top = new_top(2);
	char path[PATH_MAX];

	memset(path, 'x', sizeof(path));
	for (int i = 0; i < 10000; i++) {
		snprintf(path + PATH_MAX - 10, 10, "%09d", i);
		add(top, path, i % 5000);
	}
	{
		const struct send_largest_file *files;

		assert_int_equal(send_largest_files_list(top, &files), 2);
		assert_int_equal(files[0].bytes, 4999);
		assert_string_equal(files[0].path + PATH_MAX - 10, "000004999");
		assert_string_equal(files[1].path + PATH_MAX - 10, "000009999");
	}
	send_largest_files_free(top);
	send_largest_files_free(NULL);
}
