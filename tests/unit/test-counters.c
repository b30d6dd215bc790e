// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/counters.h"
#include "test.h"

static const uint8_t fsid[FSID_SIZE] = {
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff,
};
#define FSID_TEXT "01234567-89ab-cdef-0011-2233445566ff"

static struct counters counters;

static int parse(const char *text)
{
	return counters_parse(text, strlen(text), &counters);
}

TEST(test_parse)
{
	assert_int_equal(parse("first 0\nsecond_one 18446744073709551615\nx 007\n"), 0);
	assert_int_equal(counters.count, 3);
	assert_string_equal(counters.list[0].name, "first");
	assert_int_equal(counters.list[0].value, 0);
	assert_string_equal(counters.list[1].name, "second_one");
	assert_int_equal(counters.list[1].value, UINT64_MAX);
	assert_string_equal(counters.list[2].name, "x");
	assert_int_equal(counters.list[2].value, 7);
}

TEST(test_parse_nothing)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(counters.count, 0);
}

TEST(test_parse_errors)
{
	static const char *const texts[] = {
		"\n",
		"name\n",
		"name \n",
		" 1\n",
		"name 1",
		"name  1\n",
		"name 1 \n",
		"name -1\n",
		"name +1\n",
		"name 0x1\n",
		"name 1\r\n",
		"name one\n",
		"a 1\nb",
		"a 1\n\nb 2\n",
		"name\t1\n",
		"name 1 2\n",
		"name 18446744073709551616\n",
		"name 18446744073709551620\n",
		"name 99999999999999999999999\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(texts[i]), -EPROTO);
	assert_int_equal(counters_parse("a\0b 1\n", 6, &counters), -EPROTO);
	assert_int_equal(counters_parse("a 1\0\n", 5, &counters), -EPROTO);
}

TEST(test_parse_length_of_names)
{
	char text[COUNTER_NAME_SIZE + 8];

	for (int length = COUNTER_NAME_SIZE - 2; length <= COUNTER_NAME_SIZE + 1; length++) {
		snprintf(text, sizeof(text), "%0*d 5\n", length, 0);
		assert_int_equal(parse(text), length < COUNTER_NAME_SIZE ? 0 : -EPROTO);
	}
}

TEST(test_parse_number_of_counters)
{
	char text[(COUNTERS_MAX + 1) * 4 + 1] = "";

	for (size_t i = 0; i < COUNTERS_MAX; i++)
		strcat(text, "c 1\n");
	assert_int_equal(parse(text), 0);
	assert_int_equal(counters.count, COUNTERS_MAX);
	strcat(text, "c 1\n");
	assert_int_equal(parse(text), -EPROTO);
}

/* What follows the text is not looked at. */
TEST(test_parse_stops_at_the_size)
{
	assert_int_equal(counters_parse("a 12\n3\n", 5, &counters), 0);
	assert_int_equal(counters.list[0].value, 12);
	assert_int_equal(counters_parse("a 12\n", 4, &counters), -EPROTO);
}

static char root[32];
static char directory[128];
static char path[192];

/* An empty folder in sysfs' place. */
static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-counters-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(directory, sizeof(directory), "%s/%s", root, FSID_TEXT);
	snprintf(path, sizeof(path), "%s/fastpath_stats", directory);
	return mkdir(directory, 0700);
}

static int remove_root(void **state)
{
	(void)state;
	if (unlink(path))
		rmdir(path);
	rmdir(directory);
	return rmdir(root);
}

static void write_file(const char *text)
{
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
}

TEST_WITH(test_read, make_root, remove_root)
{
	write_file("leaf_shortcuts 12\nwalks 3\n");
	assert_int_equal(counters_read(root, fsid, &counters), 0);
	assert_int_equal(counters.count, 2);
	assert_string_equal(counters.list[0].name, "leaf_shortcuts");
	assert_int_equal(counters.list[0].value, 12);
	assert_string_equal(counters.list[1].name, "walks");
	assert_int_equal(counters.list[1].value, 3);
}

TEST_WITH(test_read_errors, make_root, remove_root)
{
	static const uint8_t another[FSID_SIZE] = { 1 };

	assert_int_equal(counters_read(root, fsid, &counters), -ENOENT);
	write_file("broken");
	assert_int_equal(counters_read(root, fsid, &counters), -EPROTO);
	assert_int_equal(counters_read(root, another, &counters), -ENOENT);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(counters_read(root, fsid, &counters), -EISDIR);
}

TEST_WITH(test_read_another_file, make_root, remove_root)
{
	char other[sizeof(directory) + 16];

	write_file("a 1\n");
	snprintf(other, sizeof(other), "%s/commit_stats", directory);
	assert_int_equal(counters_read_file(root, fsid, "commit_stats", &counters), -ENOENT);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(counters_read_file(root, fsid, "commit_stats", &counters), 0);
	assert_int_equal(counters.count, 1);
	assert_int_equal(unlink(other), 0);
}

TEST(test_find)
{
	const struct counters list = { 2, { { "a", 5 }, { "ab", 9 } } };
	uint64_t value = 77;

	assert_int_equal(counters_find(&list, "b", &value), -ENOENT);
	assert_int_equal(counters_find(&list, "", &value), -ENOENT);
	assert_int_equal(value, 77);
	assert_int_equal(counters_find(&list, "ab", &value), 0);
	assert_int_equal(value, 9);
}

TEST(test_subtract)
{
	const struct counters before = { 3, { { "b", 5 }, { "gone", 9 }, { "a", 100 } } };
	const struct counters after = {
		4,
		{ { "a", 110 }, { "b", 5 }, { "new", 7 }, { "newer", 8 } },
	};
	struct counters change;

	counters_subtract(&after, &before, &change);
	assert_int_equal(change.count, 4);
	assert_string_equal(change.list[0].name, "a");
	assert_int_equal(change.list[0].value, 10);
	assert_string_equal(change.list[1].name, "b");
	assert_int_equal(change.list[1].value, 0);
	assert_string_equal(change.list[2].name, "new");
	assert_int_equal(change.list[2].value, 7);
	assert_string_equal(change.list[3].name, "newer");
	assert_int_equal(change.list[3].value, 8);
}
