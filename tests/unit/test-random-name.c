// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "path/temporary-file.h"
#include "test.h"

/* What getrandom() answers, and how much of it. */
static uint32_t number;
static ssize_t answer_size;

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned int flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned int flags)
{
	assert_int_equal(size, sizeof(number));
	assert_int_equal(flags, 0);
	if (answer_size > 0)
		memcpy(buffer, &number, answer_size);
	return answer_size;
}

static void expect_name(uint32_t drawn, const char *expected)
{
	char name[RANDOM_NAME_SIZE("folder.")];

	number = drawn;
	answer_size = sizeof(number);
	assert_int_equal(random_name(name, sizeof(name), "folder."), 0);
	assert_string_equal(name, expected);
}

/* Of one length, which is what RANDOM_NAME_SIZE has room for. */
TEST(test_names)
{
	expect_name(0, "folder.00000000");
	expect_name(0x12ab, "folder.000012ab");
	expect_name(UINT32_MAX, "folder.ffffffff");
}

/* Less than asked for is not random. */
TEST(test_errors)
{
	char name[RANDOM_NAME_SIZE("folder.")] = "before";

	answer_size = -1;
	assert_int_equal(random_name(name, sizeof(name), "folder."), -EIO);
	answer_size = 2;
	assert_int_equal(random_name(name, sizeof(name), "folder."), -EIO);
	assert_string_equal(name, "before");
}
