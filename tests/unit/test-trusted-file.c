// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../large-file.h"
#include "path/trusted-file.h"
#include "test.h"

static char root[48];
static char path[80];

/* Where the directory goes once its file was looked at, and another one takes its place; or NULL. */
static const char *replacement;

static void replace_directory(void)
{
	const char *elsewhere = replacement;
	int fd;

	replacement = NULL;
	assert_int_equal(rename(root, elsewhere), 0);
	assert_int_equal(mkdir(root, 0700), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "theirs", 6), 6);
	close(fd);
}

int __real_fstatat(int directory, const char *name, struct stat *status, int flags)
	LARGE_FILE_SYMBOL("__real_fstatat");
int __wrap_fstatat(int directory, const char *name, struct stat *status, int flags)
	LARGE_FILE_SYMBOL("__wrap_fstatat");
int __wrap_fstatat(int directory, const char *name, struct stat *status, int flags)
{
	int ret = __real_fstatat(directory, name, status, flags);

	if (replacement)
		replace_directory();
	return ret;
}

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

static void expect_opened(const char *text)
{
	char found[16] = "";
	int fd = trusted_file_open(path);

	assert_true(fd >= 0);
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	assert_string_equal(found, text);
	close(fd);
}

static void write_text(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_open(void **state)
{
	(void)state;
	write_text("ours");
	expect_opened("ours");
	assert_int_equal(chmod(path, 0722), 0);
	assert_int_equal(trusted_file_open(path), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(trusted_file_open(path), -ENOENT);
	assert_int_equal(symlink("/bin/sh", path), 0);
	assert_int_equal(trusted_file_open(path), -EPERM);
}

/* What was checked is what is opened. */
static void test_directory_is_replaced_meanwhile(void **state)
{
	char other[64];

	(void)state;
	write_text("ours");
	snprintf(other, sizeof(other), "%s-other", root);
	replacement = other;
	expect_opened("ours");
	assert_null(replacement);
	expect_opened("theirs");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(root), 0);
	assert_int_equal(rename(other, root), 0);
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
		TEST(test_open),
		TEST(test_directory_is_replaced_meanwhile),
	};

	return cmocka_run_group_tests_name("trusted-file", tests, NULL, NULL);
}
