// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mounted-filesystems.h"
#include "test.h"

#define FIRST "0123abcd-4567-89ab-cdef-0123456789ab"
#define SECOND "fedcba98-7654-3210-fedc-ba9876543210"

static char root[40];

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-mounted-XXXXXX");
	return mkdtemp(root) && chdir(root) == 0 ? 0 : -1;
}

/* Fails if something is left. */
static int teardown(void **state)
{
	(void)state;
	return chdir("/") == 0 ? rmdir(root) : -1;
}

static void read_names(const char *const *names, struct mounted_filesystems *ret_filesystems)
{
	for (size_t i = 0; names[i]; i++)
		assert_int_equal(mkdir(names[i], 0700), 0);
	assert_int_equal(mounted_filesystems_read(root, ret_filesystems), 0);
	for (size_t i = 0; names[i]; i++)
		assert_int_equal(rmdir(names[i]), 0);
}

TEST_WITH(test_sorted, setup, teardown)
{
	static const char *const names[] = { SECOND, "features", FIRST, NULL };
	struct mounted_filesystems filesystems;
	char text[FSID_TEXT_SIZE];

	read_names(names, &filesystems);
	assert_int_equal(filesystems.count, 2);
	assert_string_equal(filesystem_id_text(text, filesystems.fsids[0]), FIRST);
	assert_string_equal(filesystem_id_text(text, filesystems.fsids[1]), SECOND);
	mounted_filesystems_free(&filesystems);
	assert_int_equal(filesystems.count, 0);
}

/* What is nearly a UUID is none. */
TEST_WITH(test_other_names, setup, teardown)
{
	static const char *const names[] = {
		"0123ABCD-4567-89ab-cdef-0123456789ab",
		"0123abcd-4567-89ab-cdef-0123456789a",
		"0123abcd-4567-89ab-cdef-0123456789abc",
		"0123abcd4567-89ab-cdef-0123456789abcd",
		"0123abcd--4567-89ab-cdef-0123456789ab",
		"0123abcd-4567-89ab-cdef-0123456789ag",
		" 123abcd-4567-89ab-cdef-0123456789ab",
		"------------------------------------",
		NULL,
	};
	struct mounted_filesystems filesystems;

	read_names(names, &filesystems);
	assert_int_equal(filesystems.count, 0);
	mounted_filesystems_free(&filesystems);
}

TEST_WITH(test_errors, setup, teardown)
{
	struct mounted_filesystems filesystems = { .count = 77 };

	assert_int_equal(mounted_filesystems_read("/nowhere", &filesystems), 0);
	assert_int_equal(filesystems.count, 0);
	filesystems.count = 77;
	assert_int_equal(mounted_filesystems_read("/proc/self/stat", &filesystems), -ENOTDIR);
	assert_int_equal(filesystems.count, 77);
}
