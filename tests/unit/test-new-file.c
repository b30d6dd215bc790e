// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../large-file.h"
#include "path/new-file.h"
#include "test.h"

/* What renameat2() fails with, if it is not 0. */
static int fail_rename;

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (number != SYS_renameat2 || !fail_rename)
		return __real_syscall(number, a, b, c, d, e);
	errno = fail_rename;
	return -1;
}

/* What openat() of a file without a name fails with, if it is not 0. */
static int fail_tmpfile;

int __real_openat(int directory, const char *path, int flags, mode_t mode)
	LARGE_FILE_SYMBOL("__real_openat");
int __wrap_openat(int directory, const char *path, int flags, mode_t mode)
	LARGE_FILE_SYMBOL("__wrap_openat");
int __wrap_openat(int directory, const char *path, int flags, mode_t mode)
{
	if (!fail_tmpfile || (flags & O_TMPFILE) != O_TMPFILE)
		return __real_openat(directory, path, flags, mode);
	errno = fail_tmpfile;
	return -1;
}

static bool without_proc;

int __real_open_own_descriptors(void);
int __wrap_open_own_descriptors(void);
int __wrap_open_own_descriptors(void)
{
	return without_proc ? -ENOENT : __real_open_own_descriptors();
}

static char root[40];

static int setup(void **state)
{
	(void)state;
	fail_rename = fail_tmpfile = 0;
	without_proc = false;
	strcpy(root, "/tmp/test-new-file-XXXXXX");
	return mkdtemp(root) && chdir(root) == 0 ? 0 : -1;
}

/* Fails if something is left. */
static int teardown(void **state)
{
	(void)state;
	return chdir("/") == 0 ? rmdir(root) : -1;
}

/* Returns what new_file_finish() does, with nothing left. */
static int finish(struct new_file *file)
{
	struct descriptor_place left = { .inode = 77 };
	int ret = new_file_finish(file, &left);

	assert_int_equal(left.inode, 0);
	assert_null(left.path);
	assert_null(file->stream);
	return ret;
}

/* How many names there are in the directory. */
static int count_names(void)
{
	DIR *entries = opendir(".");
	const struct dirent *entry;
	int count = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries)))
		count += entry->d_name[0] != '.';
	closedir(entries);
	return count;
}

static void write_file(const char *path, const char *text)
{
	struct new_file file;

	assert_int_equal(new_file_open(path, &file), 0);
	/* not under this name yet */
	assert_int_equal(access(path, F_OK), -1);
	fprintf(file.stream, "%s\n", text);
	assert_int_equal(finish(&file), 0);
}

static void expect_text(const char *path, const char *expected)
{
	char text[100] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, expected);
}

static void expect_line(const char *path, const char *line)
{
	char text[100];

	snprintf(text, sizeof(text), "%s\n", line);
	expect_text(path, text);
}

static void expect_written(const char *path)
{
	write_file(path, "text");
	expect_text(path, "text\n");
	assert_int_equal(unlink(path), 0);
}

TEST_WITH(test_where, setup, teardown)
{
	char path[100];

	assert_int_equal(mkdir("a", 0700), 0);
	assert_int_equal(mkdir("a/b", 0700), 0);
	snprintf(path, sizeof(path), "%s//a/./b/../file", root);
	expect_written(path);
	expect_written("file");
	expect_written("./a//b/file");
	expect_written("a/b/../../file");
	assert_int_equal(rmdir("a/b"), 0);
	assert_int_equal(rmdir("a"), 0);
}

TEST_WITH(test_no_name_before_the_end, setup, teardown)
{
	struct new_file file;

	assert_int_equal(new_file_open("file", &file), 0);
	assert_int_equal(count_names(), 0);
	assert_int_equal(finish(&file), 0);
	assert_int_equal(count_names(), 1);
	assert_int_equal(unlink("file"), 0);
}

TEST_WITH(test_another_name_before_the_end, setup, teardown)
{
	static const int rename_errors[] = { 0, EINVAL, ENOSYS };
	static const int tmpfile_errors[] = { EOPNOTSUPP, EISDIR };
	struct new_file file;

	for (size_t i = 0; i < ARRAY_SIZE(rename_errors); i++) {
		fail_rename = rename_errors[i];
		fail_tmpfile = tmpfile_errors[i % ARRAY_SIZE(tmpfile_errors)];
		expect_written("file");
		fail_tmpfile = 0;
		without_proc = true;
		expect_written("file");
		assert_int_equal(new_file_open("file", &file), 0);
		assert_int_equal(count_names(), 1);
		assert_int_equal(access(file.temporary, F_OK), 0);
		assert_int_equal(finish(&file), 0);
		assert_int_equal(unlink("file"), 0);
		without_proc = false;
	}
}

/* Where neither works, nothing stays. */
TEST_WITH(test_without_a_name, setup, teardown)
{
	struct new_file file;

	fail_rename = EROFS;
	fail_tmpfile = EOPNOTSUPP;
	assert_int_equal(new_file_open("file", &file), 0);
	assert_int_equal(finish(&file), -EROFS);
}

TEST_WITH(test_moved_meanwhile, setup, teardown)
{
	struct descriptor_place left;
	struct new_file file;
	struct stat status;

	fail_tmpfile = EOPNOTSUPP;
	assert_int_equal(new_file_open("file", &file), 0);
	assert_int_equal(mkdir("other", 0700), 0);
	assert_int_equal(rename(file.temporary, "other/moved"), 0);
	assert_int_equal(new_file_finish(&file, &left), -ENOENT);
	assert_int_equal(stat("other/moved", &status), 0);
	assert_int_equal(left.inode, status.st_ino);
	assert_string_equal(strrchr(left.path, '/'), "/moved");
	free(left.path);
	assert_int_equal(unlink("other/moved"), 0);
	assert_int_equal(rmdir("other"), 0);
}

TEST_WITH(test_directory_removed_meanwhile, setup, teardown)
{
	struct new_file file;

	assert_int_equal(mkdir("other", 0700), 0);
	assert_int_equal(new_file_open("other/file", &file), 0);
	assert_int_equal(rmdir("other"), 0);
	assert_int_equal(finish(&file), -ENOENT);
}

static void expect_error(const char *path, int error)
{
	struct new_file file = { .error = 77 };

	assert_int_equal(new_file_open(path, &file), error);
	assert_int_equal(file.error, 77);
}

TEST_WITH(test_no_names, setup, teardown)
{
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	expect_error("", -ENOENT);
	expect_error("none/file", -ENOENT);
	expect_error("/dev/null/file", -ENOTDIR);
	expect_error(".", -EISDIR);
	expect_error("..", -EISDIR);
	expect_error("./", -EISDIR);
	expect_error("/", -EISDIR);
	expect_error("none/", -EISDIR);
	expect_error(name, -ENAMETOOLONG);
}

TEST_WITH(test_what_is_there, setup, teardown)
{
	static const char *const there[] = { "file", "dangling", "link", "fifo", "directory" };

	write_file("file", "mine");
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(mkdir("directory", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(there); i++)
		expect_error(there[i], -EEXIST);
	expect_text("file", "mine\n");
	for (size_t i = 0; i < ARRAY_SIZE(there); i++)
		assert_int_equal(remove(there[i]), 0);
}

static void replace(const char *path, const char *text)
{
	int names = count_names();
	struct new_file file;

	assert_int_equal(new_file_open_to_replace(path, &file), 0);
	assert_int_equal(count_names(), names + !!fail_tmpfile);
	fprintf(file.stream, "%s\n", text);
	assert_int_equal(finish(&file), 0);
	expect_line(path, text);
}

TEST_WITH(test_replace, setup, teardown)
{
	struct stat old, new;

	replace("file", "first");
	assert_int_equal(stat("file", &old), 0);
	replace("file", "second");
	assert_int_equal(stat("file", &new), 0);
	assert_true(old.st_ino != new.st_ino);
	assert_int_equal(symlink("file", "link"), 0);
	replace("link", "third");
	assert_int_equal(lstat("link", &new), 0);
	assert_true(S_ISREG(new.st_mode));
	expect_line("file", "second");
	assert_int_equal(count_names(), 2);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(unlink("file"), 0);
}

TEST_WITH(test_replace_with_a_name, setup, teardown)
{
	fail_tmpfile = EOPNOTSUPP;
	test_replace(state);
}

TEST_WITH(test_replacement_is_for_its_owner, setup, teardown)
{
	mode_t before = umask(0);
	struct stat status;

	for (int i = 0; i < 2; i++) {
		fail_tmpfile = i ? EOPNOTSUPP : 0;
		replace("file", "text");
		assert_int_equal(stat("file", &status), 0);
		assert_int_equal(status.st_mode & 07777, 0644);
	}
	umask(before);
	assert_int_equal(unlink("file"), 0);
}

TEST_WITH(test_not_replaceable, setup, teardown)
{
	struct new_file file;

	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_int_equal(new_file_open_to_replace("fifo", &file), -EEXIST);
	assert_int_equal(new_file_open_to_replace("directory", &file), -EISDIR);
	assert_int_equal(count_names(), 2);
	assert_int_equal(unlink("fifo"), 0);
	assert_int_equal(rmdir("directory"), 0);
}

/* The old one stays. */
TEST_WITH(test_failing_replacement, setup, teardown)
{
	struct new_file file;

	replace("file", "old");
	assert_int_equal(new_file_open_to_replace("file", &file), 0);
	assert_non_null(freopen("/dev/full", "w", file.stream));
	fprintf(file.stream, "new\n");
	assert_int_equal(finish(&file), -ENOSPC);
	expect_line("file", "old");
	assert_int_equal(count_names(), 1);
	assert_int_equal(unlink("file"), 0);
}

static void taken_meanwhile(int tmpfile_error, int rename_error)
{
	struct new_file file;

	fail_tmpfile = tmpfile_error;
	fail_rename = rename_error;
	assert_int_equal(new_file_open("file", &file), 0);
	fprintf(file.stream, "ours\n");
	assert_int_equal(symlink("nowhere", "file"), 0);
	assert_int_equal(finish(&file), -EEXIST);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(access("nowhere", F_OK), -1);
}

TEST_WITH(test_taken_meanwhile, setup, teardown)
{
	taken_meanwhile(0, 0);
	taken_meanwhile(EOPNOTSUPP, 0);
	taken_meanwhile(EOPNOTSUPP, EINVAL);
}

TEST_WITH(test_links, setup, teardown)
{
	assert_int_equal(mkdir("directory", 0700), 0);
	assert_int_equal(symlink("directory", "ours"), 0);
	assert_int_equal(symlink("./ours//.", "twice"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	expect_written("ours/file");
	expect_written("twice/../directory/file");
	expect_error("loop/file", -ELOOP);
	if (geteuid() == 0) {
		assert_int_equal(lchown("ours", 65534, 65534), 0);
		expect_error("ours/file", -EXDEV);
		expect_error("twice/file", -EXDEV);
	}
	assert_int_equal(unlink("twice"), 0);
	assert_int_equal(unlink("ours"), 0);
	assert_int_equal(unlink("loop"), 0);
	assert_int_equal(rmdir("directory"), 0);
}

/* On a stream that cannot be written to, at once or in the end. */
TEST_WITH(test_failing_writes, setup, teardown)
{
	struct new_file file;

	for (int lines = 1; lines <= 100000; lines *= 1000) {
		fail_tmpfile = lines == 1 ? 0 : EOPNOTSUPP;
		assert_int_equal(new_file_open("file", &file), 0);
		assert_non_null(freopen("/dev/full", "w", file.stream));
		for (int i = 0; i < lines; i++)
			fprintf(file.stream, "a line of %s\n", "text");
		assert_int_equal(finish(&file), -ENOSPC);
		assert_int_equal(access("file", F_OK), -1);
	}
}

/* The disk was full in the midst, and is not in the end. */
TEST_WITH(test_lost_text, setup, teardown)
{
	struct new_file file;

	assert_int_equal(new_file_open("file", &file), 0);
	assert_non_null(freopen("/dev/full", "w", file.stream));
	fprintf(file.stream, "lost");
	assert_int_equal(fflush(file.stream), EOF);
	__fpurge(file.stream);
	assert_int_equal(finish(&file), -EIO);
	assert_int_equal(access("file", F_OK), -1);
}
