// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>

#include "../large-file.h"
#include "fs/filesystem.h"
#include "test.h"

#define FD 1000
#define CONTROL_FD 1001

/* What was called, a letter each: open, sync, write, close; and the one that fails, with ERROR. */
static char calls[8];
static char failing;
static int error;

static int call(char name)
{
	calls[strlen(calls)] = name;
	if (name != failing)
		return 0;
	errno = error;
	return -1;
}

int __real_open(const char *path, int flags, ...) LARGE_FILE_SYMBOL("__real_open");
int __wrap_open(const char *path, int flags, ...) LARGE_FILE_SYMBOL("__wrap_open");
int __wrap_open(const char *path, int flags, ...)
{
	/* A build with coverage writes its files at the end. */
	if (strcmp(path, "/proc/sys/vm/drop_caches") != 0)
		return __real_open(path, flags, 0666);
	assert_int_equal(flags, O_WRONLY | O_CLOEXEC);
	return call('o') < 0 ? -1 : CONTROL_FD;
}

int __wrap_syncfs(int fd);
int __wrap_syncfs(int fd)
{
	assert_int_equal(fd, FD);
	return call('s');
}

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	if (fd != CONTROL_FD)
		return __real_write(fd, data, size);
	assert_int_equal(size, 2);
	assert_memory_equal(data, "3\n", 2);
	return call('w') < 0 ? -1 : (ssize_t)size;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	return fd == CONTROL_FD ? call('c') : __real_close(fd);
}

static int drop(char fails, int with_error)
{
	memset(calls, 0, sizeof(calls));
	failing = fails;
	error = with_error;
	return drop_caches(FD);
}

/* What is dirty would stay in memory: it is written back first. */
TEST(test_order)
{
	assert_int_equal(drop(0, 0), 0);
	assert_string_equal(calls, "oswc");
}

/* Nobody waits for a sync that is of no use. */
TEST(test_without_privilege)
{
	assert_int_equal(drop('o', EACCES), -EACCES);
	assert_string_equal(calls, "o");
}

TEST(test_errors)
{
	assert_int_equal(drop('s', EIO), -EIO);
	assert_string_equal(calls, "osc");
	assert_int_equal(drop('w', EPERM), -EPERM);
	assert_string_equal(calls, "oswc");
}
