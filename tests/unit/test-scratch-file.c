// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/fs.h>

#include "../large-file.h"
#include "ioctl-mock.h"
#include "nocow/scratch-file.h"
#include "test.h"

#define SIZE (4 * SCRATCH_BLOCK)

/* What filesystem_open_directory() and openat() of the file itself return. */
static int directory;
static int tmpfile_error;

int __wrap_filesystem_open_directory(const char *path, int flags);
int __wrap_filesystem_open_directory(const char *path, int flags)
{
	assert_string_equal(path, "dir");
	/* To write in it, a directory need not be readable. */
	assert_int_equal(flags, O_PATH);
	return directory < 0 ? directory : open("/", O_PATH);
}

int __wrap_openat(int fd, const char *path, int flags, ...) LARGE_FILE_SYMBOL("__wrap_openat");
int __wrap_openat(int fd, const char *path, int flags, ...)
{
	mode_t mode;
	va_list arguments;

	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	assert_true(fcntl(fd, F_GETFL) & O_PATH);
	assert_string_equal(path, ".");
	/* It never has a name, and nobody can give it one. */
	assert_int_equal(flags, O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC);
	assert_int_equal(mode, 0600);
	errno = tmpfile_error;
	return tmpfile_error ? -1 : MOCK_FD;
}

static int new_file(int with_directory, int error)
{
	directory = with_directory;
	tmpfile_error = error;
	return scratch_file_new("dir");
}

TEST(test_new)
{
	assert_int_equal(new_file(0, 0), MOCK_FD);
	assert_int_equal(new_file(-ENOTTY, 0), -ENOTTY);
	assert_int_equal(new_file(0, EROFS), -EROFS);
}

/* What was done to the file. */
static struct {
	/* fallocate() fails so often with EINTR, and then with ERROR */
	int interrupted;
	int error;
	uint64_t allocated;
	uint64_t written;
	bool synced;
} file;

int __wrap_fallocate(int fd, int mode, off_t offset, off_t length)
	LARGE_FILE_SYMBOL("__wrap_fallocate");
int __wrap_fallocate(int fd, int mode, off_t offset, off_t length)
{
	assert_int_equal(fd, MOCK_FD);
	assert_int_equal(mode, 0);
	assert_int_equal(offset, 0);
	errno = file.interrupted ? EINTR : file.error;
	if (file.interrupted)
		file.interrupted--;
	if (errno)
		return -1;
	file.allocated = length;
	return 0;
}

int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset);
int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	assert_int_equal(fd, MOCK_FD);
	/* as O_DIRECT wants it */
	assert_int_equal((uintptr_t)data % SCRATCH_BLOCK, 0);
	assert_int_equal(size, SCRATCH_BLOCK);
	assert_int_equal(offset, file.written);
	assert_false(file.synced);
	file.written += size;
	return 0;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	assert_int_equal(fd, MOCK_FD);
	file.synced = true;
	return 0;
}

static void expect_setflags(unsigned int flags, int error)
{
	ioctl_mock_expect(&(struct ioctl_call){
		.request = FS_IOC_SETFLAGS,
		.expected = &flags,
		.expected_size = sizeof(flags),
		.error = error,
	});
}

static int fill(enum scratch_kind kind, int interrupted, int error)
{
	memset(&file, 0, sizeof(file));
	file.interrupted = interrupted;
	file.error = error;
	return scratch_file_fill(MOCK_FD, kind, SIZE);
}

/* What the directory handed down is taken away. */
TEST_WITH(test_prealloc, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_setflags(0, 0);
	assert_int_equal(fill(SCRATCH_PREALLOC, 0, 0), 0);
	assert_int_equal(file.allocated, SIZE);
	assert_int_equal(file.written, 0);
	assert_true(file.synced);
}

/* In two calls, since NOCOW and compression are not exchanged in one. */
TEST_WITH(test_nocow, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_setflags(0, 0);
	expect_setflags(FS_NOCOW_FL, 0);
	assert_int_equal(fill(SCRATCH_NOCOW, 0, 0), 0);
	assert_int_equal(file.allocated, SIZE);
	assert_int_equal(file.written, SIZE);
	assert_true(file.synced);
}

TEST_WITH(test_fill_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_setflags(0, EPERM);
	assert_int_equal(fill(SCRATCH_PREALLOC, 0, 0), -EPERM);
	expect_setflags(0, 0);
	expect_setflags(FS_NOCOW_FL, EPERM);
	assert_int_equal(fill(SCRATCH_NOCOW, 0, 0), -EPERM);
	expect_setflags(0, EROFS);
	assert_int_equal(fill(SCRATCH_NOCOW, 0, 0), -EROFS);
	assert_int_equal(file.allocated, 0);
	expect_setflags(0, 0);
	assert_int_equal(fill(SCRATCH_PREALLOC, 0, ENOSPC), -ENOSPC);
	assert_false(file.synced);
}

TEST_WITH(test_interrupted, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_setflags(0, 0);
	assert_int_equal(fill(SCRATCH_PREALLOC, 2, 0), 0);
	assert_int_equal(file.allocated, SIZE);
}
