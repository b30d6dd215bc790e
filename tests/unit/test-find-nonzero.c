// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../large-file.h"
#include "seek/seek-iter.h"
#include "test.h"

#define FD 1000

/*
 * The file: zeros up to SIZE, but for one byte. The program is linked with -Wl,--wrap=pread, which
 * gives at most AT_ONCE bytes and fails once where ERROR says.
 */
static struct {
	uint64_t size;
	uint64_t other;
	size_t at_once;
	int error;
	unsigned int calls;
} file;

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset)
	LARGE_FILE_SYMBOL("__wrap_pread");
ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset)
{
	uint64_t start = offset;

	assert_int_equal(fd, FD);
	assert_true(offset >= 0);
	file.calls++;
	if (file.error) {
		errno = file.error;
		file.error = 0;
		return -1;
	}
	if (start >= file.size)
		return 0;
	if (size > file.size - start)
		size = file.size - start;
	if (file.at_once && size > file.at_once)
		size = file.at_once;
	memset(buffer, 0, size);
	if (file.other >= start && file.other < start + size)
		((char *)buffer)[file.other - start] = 1;
	return size;
}

static void set_file(uint64_t size, uint64_t other)
{
	memset(&file, 0, sizeof(file));
	file.size = size;
	file.other = other;
}

static void assert_found(uint64_t offset, uint64_t length, uint64_t found)
{
	uint64_t ret = 77;

	assert_int_equal(find_nonzero(FD, (struct byte_range){ offset, length }, &ret), 1);
	assert_int_equal(ret, found);
}

static void assert_none_up_to(uint64_t offset, uint64_t length, uint64_t end)
{
	uint64_t ret = 77;

	assert_int_equal(find_nonzero(FD, (struct byte_range){ offset, length }, &ret), 0);
	assert_int_equal(ret, end);
}

static void assert_none(uint64_t offset, uint64_t length)
{
	assert_none_up_to(offset, length, offset + length);
}

TEST(test_all_zero)
{
	set_file(MIB(3), UINT64_MAX);
	assert_none(0, MIB(3));
	assert_none(1, 1);
	assert_none(0, 0);
}

/* The first and the last byte of what one read gets, and of the range. */
TEST(test_one_other_byte)
{
	static const uint64_t others[] = { 0, 1, KIB(256) - 1, KIB(256), MIB(2), MIB(3) - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		set_file(MIB(3), others[i]);
		assert_found(0, MIB(3), others[i]);
		assert_found(others[i], 1, others[i]);
		assert_found(others[i], UINT64_MAX, others[i]);
		assert_none(0, others[i]);
		assert_none_up_to(others[i] + 1, MIB(3), MIB(3));
	}
}

TEST(test_short_reads)
{
	set_file(1000, 999);
	file.at_once = 7;
	assert_found(0, 1000, 999);
	assert_none(0, 999);
}

TEST(test_the_end_of_the_file)
{
	set_file(1000, UINT64_MAX);
	assert_none_up_to(0, UINT64_MAX, 1000);
	assert_none_up_to(999, 10, 1000);
	assert_none_up_to(1000, 10, 1000);
}

TEST(test_interrupted_read_is_made_again)
{
	set_file(1000, 5);
	file.error = EINTR;
	assert_found(0, 1000, 5);
	assert_int_equal(file.calls, 2);
}

TEST(test_errors_are_passed_on)
{
	uint64_t ret = 77;

	set_file(1000, 5);
	file.error = EIO;
	assert_int_equal(find_nonzero(FD, WHOLE_FILE, &ret), -EIO);
	assert_int_equal(ret, 77);
}
