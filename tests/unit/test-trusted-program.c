// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trusted-program.h"
#include "test.h"

static char root[48];
static char path[80];

static int make_program(void **state)
{
	int fd;

	(void)state;
	strcpy(root, "/tmp/test-trusted-program-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/program", root);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	return fd < 0 ? -1 : close(fd);
}

static int remove_program(void **state)
{
	(void)state;
	chmod(root, 0700);
	unlink(path);
	return rmdir(root);
}

static void test_ours(void **state)
{
	(void)state;
	assert_int_equal(trusted_program_check(path), 0);
	/* Whether it can be executed is for the kernel to say. */
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(trusted_program_check(path), 0);
}

static void test_others_can_change_it(void **state)
{
	static const mode_t modes[] = { 0770, 0707, 0722 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(trusted_program_check(path), -EPERM);
	}
}

static void test_others_can_replace_it(void **state)
{
	static const mode_t modes[] = { 0770, 0707, 01777 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(root, modes[i]), 0);
		assert_int_equal(trusted_program_check(path), -EPERM);
	}
}

static void test_of_another_owner(void **state)
{
	(void)state;
	if (chown(path, 1, -1) < 0)
		skip();
	assert_int_equal(trusted_program_check(path), geteuid() == 1 ? 0 : -EPERM);
}

static void test_no_regular_file(void **state)
{
	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(trusted_program_check(path), -ENOENT);
	assert_int_equal(symlink("/bin/sh", path), 0);
	assert_int_equal(trusted_program_check(path), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0700), 0);
	assert_int_equal(trusted_program_check(path), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(trusted_program_check(path), -EPERM);
	assert_int_equal(rmdir(path), 0);
}

static void test_no_directory(void **state)
{
	char below[112];

	(void)state;
	snprintf(below, sizeof(below), "%s/missing/program", root);
	assert_int_equal(trusted_program_check(below), -ENOENT);
	snprintf(below, sizeof(below), "%s/below", path);
	assert_int_equal(trusted_program_check(below), -ENOTDIR);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_program, remove_program)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ours),
		TEST(test_others_can_change_it),
		TEST(test_others_can_replace_it),
		TEST(test_of_another_owner),
		TEST(test_no_regular_file),
		TEST(test_no_directory),
	};

	return cmocka_run_group_tests_name("trusted-program", tests, NULL, NULL);
}
