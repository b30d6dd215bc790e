// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../large-file.h"
#include "seek/seek-iter.h"
#include "test.h"

#define FD 1000

/* One expected lseek and its answer. The program is linked with -Wl,--wrap=lseek,--wrap=fstat. */
struct seek_call {
	off_t offset;
	int whence;
	off_t answer;
	int error;
};

static const struct seek_call *calls;
static size_t call_count;
static size_t next_call;
/* on any descriptor, and remember which */
static bool any_fd;
static int fds[8];
static off_t file_size;

off_t __wrap_lseek(int fd, off_t offset, int whence) LARGE_FILE_SYMBOL("__wrap_lseek");
off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	const struct seek_call *call;

	if (next_call == call_count)
		fail_msg("unexpected lseek of %lld after %zu calls", (long long)offset, next_call);
	if (any_fd)
		fds[next_call] = fd;
	else
		assert_int_equal(fd, FD);
	call = &calls[next_call++];
	assert_int_equal(offset, call->offset);
	assert_int_equal(whence, call->whence);
	errno = call->error;
	return call->error ? -1 : call->answer;
}

int __wrap_fstat(int fd, struct stat *status) LARGE_FILE_SYMBOL("__wrap_fstat");
int __wrap_fstat(int fd, struct stat *status)
{
	assert_int_equal(fd, FD);
	if (file_size < 0) {
		errno = EIO;
		return -1;
	}
	*status = (struct stat){ .st_size = file_size };
	return 0;
}

static struct seek_iter iter;

static void start(struct byte_range range, uint64_t size, const struct seek_call *list,
		  size_t count)
{
	calls = list;
	call_count = count;
	next_call = 0;
	any_fd = false;
	file_size = size;
	seek_iter_start(&iter, FD, range, size);
}

#define START(range, size, list) start(range, size, list, ARRAY_SIZE(list))

static void assert_next(uint64_t offset, uint64_t length, bool is_data)
{
	struct seek_segment segment;

	assert_int_equal(seek_iter_next(&iter, &segment), 1);
	assert_int_equal(segment.offset, offset);
	assert_int_equal(segment.length, length);
	assert_int_equal(segment.is_data, is_data);
}

/* The end, as often as it is asked for, and all calls were made. */
static void assert_end(bool changed)
{
	struct seek_segment segment;

	assert_int_equal(seek_iter_next(&iter, &segment), 0);
	assert_int_equal(seek_iter_next(&iter, &segment), 0);
	assert_int_equal(next_call, call_count);
	assert_int_equal(iter.calls, call_count);
	assert_int_equal(iter.changed, changed);
}

static void assert_error(int error)
{
	struct seek_segment segment = { 1, 2, true };

	assert_int_equal(seek_iter_next(&iter, &segment), error);
	assert_int_equal(segment.offset, 1);
	assert_int_equal(segment.length, 2);
}

TEST(test_data_and_holes)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 0, 0 },	  { 0, SEEK_HOLE, 10, 0 },	{ 10, SEEK_DATA, 30, 0 },
		{ 30, SEEK_HOLE, 31, 0 }, { 31, SEEK_DATA, -1, ENXIO },
	};

	START(WHOLE_FILE, 50, list);
	assert_next(0, 10, true);
	assert_next(10, 20, false);
	assert_next(30, 1, true);
	assert_next(31, 19, false);
	assert_end(false);
}

TEST(test_hole_first_and_data_last)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 7, 0 },
		{ 7, SEEK_HOLE, 8, 0 },
	};

	START(WHOLE_FILE, 8, list);
	assert_next(0, 7, false);
	assert_next(7, 1, true);
	assert_end(false);
}

TEST(test_empty_file_needs_no_call)
{
	start(WHOLE_FILE, 0, NULL, 0);
	assert_end(false);
	start((struct byte_range){ 50, 10 }, 50, NULL, 0);
	assert_end(false);
}

TEST(test_one_byte)
{
	static const struct seek_call data[] = {
		{ 0, SEEK_DATA, 0, 0 },
		{ 0, SEEK_HOLE, 1, 0 },
	};
	static const struct seek_call hole[] = { { 0, SEEK_DATA, -1, ENXIO } };

	START(WHOLE_FILE, 1, data);
	assert_next(0, 1, true);
	assert_end(false);
	START(WHOLE_FILE, 1, hole);
	assert_next(0, 1, false);
	assert_end(false);
}

TEST(test_largest_file)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, INT64_MAX - 1, 0 },
		{ INT64_MAX - 1, SEEK_HOLE, INT64_MAX, 0 },
	};

	START(WHOLE_FILE, INT64_MAX, list);
	assert_next(0, INT64_MAX - 1, false);
	assert_next(INT64_MAX - 1, 1, true);
	assert_end(false);
}

TEST(test_range_cuts_both_ends)
{
	static const struct seek_call list[] = {
		{ 5, SEEK_DATA, 5, 0 },
		{ 5, SEEK_HOLE, 10, 0 },
		{ 10, SEEK_DATA, 40, 0 },
	};

	START(((struct byte_range){ 5, 20 }), 50, list);
	assert_next(5, 5, true);
	assert_next(10, 15, false);
	assert_end(false);
}

TEST(test_interrupted_call_is_made_again)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, -1, EINTR },
		{ 0, SEEK_DATA, 0, 0 },
		{ 0, SEEK_HOLE, 9, 0 },
	};

	START(WHOLE_FILE, 9, list);
	assert_next(0, 9, true);
	assert_end(false);
}

/* The answer to where the data ends wraps around, and is none of the errors. */
TEST(test_answer_that_wraps_around)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, INT64_MAX - 4095, 0 },
		{ INT64_MAX - 4095, SEEK_HOLE, INT64_MIN, 0 },
	};

	START(WHOLE_FILE, INT64_MAX, list);
	assert_next(0, INT64_MAX - 4095, false);
	assert_next(INT64_MAX - 4095, 4095, true);
	assert_end(false);
}

TEST(test_negative_answer)
{
	static const struct seek_call list[] = { { 0, SEEK_DATA, -2, 0 } };
	struct seek_segment segment;

	START(WHOLE_FILE, 9, list);
	assert_int_equal(seek_iter_next(&iter, &segment), -EPROTO);
}

TEST(test_errors_are_passed_on)
{
	static const struct seek_call invalid[] = { { 0, SEEK_DATA, -1, EINVAL } };
	static const struct seek_call broken[] = {
		{ 0, SEEK_DATA, 3, 0 },
		{ 3, SEEK_HOLE, -1, EIO },
	};
	static const struct seek_call unknown_end[] = { { 0, SEEK_DATA, -1, ENXIO } };

	START(WHOLE_FILE, 9, invalid);
	assert_error(-EINVAL);
	START(WHOLE_FILE, 9, broken);
	assert_next(0, 3, false);
	assert_error(-EIO);
	START(WHOLE_FILE, 9, unknown_end);
	file_size = -1;
	assert_error(-EIO);
}

TEST(test_answer_before_the_position)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 5, 0 },
		{ 5, SEEK_HOLE, 4, 0 },
	};

	START(WHOLE_FILE, 9, list);
	assert_next(0, 5, false);
	assert_error(-EPROTO);
}

/* How many calls in a row may lead nowhere. */
#define STALLS 16

/* Data where data was just denied, and the other way round, for ever. */
TEST(test_no_progress)
{
	static struct seek_call list[40];

	list[0] = (struct seek_call){ 0, SEEK_DATA, 5, 0 };
	for (size_t i = 1; i < ARRAY_SIZE(list); i++)
		list[i] = (struct seek_call){ 5, i % 2 ? SEEK_HOLE : SEEK_DATA, 5, 0 };
	START(WHOLE_FILE, 9, list);
	assert_next(0, 5, false);
	assert_error(-EPROTO);
	assert_int_equal(next_call, 1 + STALLS + 1);

	/* one less is a change yet */
	list[STALLS + 1] = (struct seek_call){ 5, SEEK_HOLE, 9, 0 };
	start(WHOLE_FILE, 9, list, STALLS + 2);
	assert_next(0, 5, false);
	assert_next(5, 4, true);
	assert_end(true);
}

TEST(test_file_that_was_punched_and_filled)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 4, 0 },
		/* a hole by now */
		{ 4, SEEK_HOLE, 4, 0 },
		{ 4, SEEK_DATA, 6, 0 },
		{ 6, SEEK_HOLE, 8, 0 },
		/* data by now */
		{ 8, SEEK_DATA, 8, 0 },
		{ 8, SEEK_HOLE, 9, 0 },
	};

	START(WHOLE_FILE, 9, list);
	assert_next(0, 4, false);
	assert_next(4, 2, false);
	assert_next(6, 2, true);
	assert_next(8, 1, true);
	assert_end(true);
}

/* Those in a row count, not those of a whole file. */
TEST(test_stalls_between_which_it_goes_on)
{
	static struct seek_call list[2 * STALLS + 4];
	size_t count = 0;

	list[count++] = (struct seek_call){ 0, SEEK_DATA, 5, 0 };
	for (size_t i = 0; i < STALLS; i++)
		list[count++] = (struct seek_call){ 5, i % 2 ? SEEK_DATA : SEEK_HOLE, 5, 0 };
	list[count++] = (struct seek_call){ 5, SEEK_HOLE, 7, 0 };
	for (size_t i = 0; i < STALLS; i++)
		list[count++] = (struct seek_call){ 7, i % 2 ? SEEK_HOLE : SEEK_DATA, 7, 0 };
	list[count++] = (struct seek_call){ 7, SEEK_DATA, -1, ENXIO };
	start(WHOLE_FILE, 9, list, count);
	assert_next(0, 5, false);
	assert_next(5, 2, true);
	assert_next(7, 2, false);
	assert_end(true);
}

/* One change alone: each of them has to be noticed for itself. */
TEST(test_file_that_was_punched)
{
	static const struct seek_call at_the_start[] = {
		{ 0, SEEK_DATA, 0, 0 },
		/* a hole by now */
		{ 0, SEEK_HOLE, 0, 0 },
		{ 0, SEEK_DATA, 9, 0 },
	};
	static const struct seek_call within[] = {
		{ 0, SEEK_DATA, 4, 0 },
		/* a hole by now */
		{ 4, SEEK_HOLE, 4, 0 },
		{ 4, SEEK_DATA, 9, 0 },
	};

	START(WHOLE_FILE, 9, at_the_start);
	assert_next(0, 9, false);
	assert_end(true);

	START(WHOLE_FILE, 9, within);
	assert_next(0, 4, false);
	assert_next(4, 5, false);
	assert_end(true);
}

TEST(test_file_that_was_filled)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 0, 0 },
		{ 0, SEEK_HOLE, 4, 0 },
		/* data by now */
		{ 4, SEEK_DATA, 4, 0 },
		{ 4, SEEK_HOLE, 9, 0 },
	};

	START(WHOLE_FILE, 9, list);
	assert_next(0, 4, true);
	assert_next(4, 5, true);
	assert_end(true);
}

TEST(test_file_that_got_shorter)
{
	static const struct seek_call in_hole[] = { { 0, SEEK_DATA, -1, ENXIO } };
	static const struct seek_call before[] = {
		{ 0, SEEK_DATA, 6, 0 },
		{ 6, SEEK_HOLE, -1, ENXIO },
	};
	static const struct seek_call before_data[] = {
		{ 0, SEEK_DATA, 0, 0 },
		{ 0, SEEK_HOLE, 6, 0 },
		{ 6, SEEK_DATA, -1, ENXIO },
	};

	START(WHOLE_FILE, 9, in_hole);
	file_size = 5;
	assert_next(0, 5, false);
	assert_end(true);

	START(WHOLE_FILE, 9, before);
	file_size = 5;
	assert_next(0, 6, false);
	assert_end(true);

	/* and is as long as it was by now: what is there was not looked at */
	START(WHOLE_FILE, 9, before);
	assert_next(0, 6, false);
	assert_end(true);

	START(WHOLE_FILE, 9, before_data);
	file_size = 5;
	assert_next(0, 6, true);
	assert_end(true);
}

/* The walk ends where the file ended when it began. */
TEST(test_file_that_grew)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 0, 0 },
		{ 0, SEEK_HOLE, 100, 0 },
	};
	static const struct seek_call hole[] = { { 0, SEEK_DATA, -1, ENXIO } };

	START(WHOLE_FILE, 9, list);
	assert_next(0, 9, true);
	assert_end(false);

	START(WHOLE_FILE, 9, hole);
	file_size = 100;
	assert_next(0, 9, false);
	assert_end(false);
}

TEST(test_each_call_is_timed)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, -1, EINTR },
		{ 0, SEEK_DATA, 4, 0 },
		{ 4, SEEK_HOLE, 9, 0 },
	};
	static struct latency latency;

	START(WHOLE_FILE, 9, list);
	iter.latency = &latency;
	assert_next(0, 4, false);
	assert_next(4, 5, true);
	assert_end(false);
	assert_int_equal(latency.count, iter.calls);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST(test_reopening)
{
	static const struct seek_call list[] = {
		{ 0, SEEK_DATA, 4, 0 },
		{ 4, SEEK_HOLE, 9, 0 },
	};
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	START(WHOLE_FILE, 9, list);
	any_fd = true;
	iter.fd = fd;
	iter.reopen = true;
	assert_next(0, 4, false);
	assert_next(4, 5, true);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		assert_int_not_equal(fds[i], fd);
		assert_false(is_open(fds[i]));
	}
	assert_true(is_open(fd));
	close(fd);
}

TEST(test_reopening_what_is_not_open)
{
	start(WHOLE_FILE, 9, NULL, 0);
	iter.reopen = true;
	assert_error(-ENOENT);
}
