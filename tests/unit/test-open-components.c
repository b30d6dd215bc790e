// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "path/open-beneath.h"
#include "test.h"

#define FAILS "missing"

/* The names that were asked for, each with a slash before it. */
static int note(int directory, const char *name, void *names)
{
	assert_true(fcntl(directory, F_GETFD) >= 0);
	strcat(strcat(names, "/"), name);
	return strcmp(name, FAILS) == 0 ? -ENOENT : dup(directory);
}

static int new_start(void)
{
	int start = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(start >= 0);
	return start;
}

TEST(test_names)
{
	static const char *const paths[][2] = {
		{ "a", "/a" },
		{ "/a/b", "/a/b" },
		{ "a//b/", "/a/b" },
		{ "//a/./../b", "/a/./../b" },
		{ "a/" FAILS "/b", "/a/" FAILS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char names[64] = "";
		int start = new_start();
		int fd = open_components(start, paths[i][0], note, names);

		assert_string_equal(names, paths[i][1]);
		if (strstr(names, FAILS))
			assert_int_equal(fd, -ENOENT);
		else
			assert_int_equal(close(fd), 0);
		/* It was taken over, so its number is free. */
		assert_int_equal(fcntl(start, F_GETFD), -1);
	}
}

TEST(test_no_name)
{
	static const char *const paths[] = { "", "/", "//" };
	int start = new_start();

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(open_components(start, paths[i], note, NULL), start);
	assert_int_equal(close(start), 0);
}

TEST(test_no_start)
{
	assert_int_equal(open_components(-EACCES, "a/b", note, NULL), -EACCES);
}
