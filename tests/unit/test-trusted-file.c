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

TEST_WITH(test_ours, make_program, remove_program)
{
	assert_int_equal(trusted_program_check(path), 0);
	/* Whether it can be executed is for the kernel to say. */
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(trusted_program_check(path), 0);
}

TEST_WITH(test_others_can_change_it, make_program, remove_program)
{
	static const mode_t modes[] = { 0770, 0707, 0722 };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(trusted_program_check(path), -EPERM);
	}
}

TEST_WITH(test_others_can_replace_it, make_program, remove_program)
{
	static const mode_t modes[] = { 0770, 0707, 01777 };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(root, modes[i]), 0);
		assert_int_equal(trusted_program_check(path), -EPERM);
	}
}

TEST_WITH(test_of_another_owner, make_program, remove_program)
{
	if (chown(path, 1, -1) < 0)
		skip();
	assert_int_equal(trusted_program_check(path), geteuid() == 1 ? 0 : -EPERM);
}

TEST_WITH(test_no_regular_file, make_program, remove_program)
{
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

TEST_WITH(test_no_directory, make_program, remove_program)
{
	char below[112];

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

TEST_WITH(test_open, make_program, remove_program)
{
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
TEST_WITH(test_directory_is_replaced_meanwhile, make_program, remove_program)
{
	char other[64];

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
