// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../large-file.h"
#include "path/temporary-file.h"
#include "test.h"

#define FD 1000
#define OFFSET 5

/*
 * What was written. The program is linked with -Wl,--wrap=pwrite, which takes at most AT_ONCE bytes
 * of a call and fails once where ERROR says.
 */
static struct {
	char content[16];
	size_t at_once;
	int error;
	unsigned int calls;
} file;

ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
	LARGE_FILE_SYMBOL("__wrap_pwrite");
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
	assert_int_equal(fd, FD);
	assert_true(offset >= OFFSET && offset + size <= sizeof(file.content));
	file.calls++;
	if (file.error) {
		errno = file.error;
		file.error = 0;
		return -1;
	}
	if (size > file.at_once)
		size = file.at_once;
	memcpy(file.content + offset, data, size);
	return size;
}

static void set_file(size_t at_once, int error)
{
	memset(&file, 0, sizeof(file));
	file.at_once = at_once;
	file.error = error;
}

static int write_seven(void)
{
	return write_at(FD, "abcdefg", 7, OFFSET);
}

static void assert_written(unsigned int calls)
{
	assert_memory_equal(file.content + OFFSET, "abcdefg", 7);
	assert_int_equal(file.calls, calls);
}

TEST(test_one_call)
{
	set_file(16, 0);
	assert_int_equal(write_seven(), 0);
	assert_written(1);
}

TEST(test_short_writes_go_on_with_what_is_left)
{
	set_file(3, 0);
	assert_int_equal(write_seven(), 0);
	assert_written(3);
}

TEST(test_interrupted_write_is_made_again)
{
	set_file(16, EINTR);
	assert_int_equal(write_seven(), 0);
	assert_written(2);
}

TEST(test_errors_are_passed_on)
{
	set_file(16, ENOSPC);
	assert_int_equal(write_seven(), -ENOSPC);
	assert_int_equal(file.calls, 1);
}

TEST(test_no_progress_is_an_error)
{
	set_file(0, 0);
	assert_int_equal(write_seven(), -EIO);
	assert_int_equal(file.calls, 1);
}
