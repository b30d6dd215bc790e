// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel-answers.h"
#include "nocow/write-exercise.h"
#include "sys/clock.h"
#include "test.h"

#define BLOCKS 64
#define SIZE (BLOCKS * EXERCISE_BLOCK)
#define LONG_ENOUGH (60 * NANOSECONDS_PER_SECOND)

static struct write_exercise *exercise;

/* A file of BLOCKS in one extent, except for MOVED, if it is one, which is elsewhere. */
static void expect_map(uint64_t moved)
{
	struct fiemap_extent extents[3];
	uint32_t count = 0;

	for (uint64_t start = 0; start < BLOCKS;) {
		uint64_t end = start == moved		       ? start + 1 :
			       start < moved && moved < BLOCKS ? moved :
								 BLOCKS;

		extents[count++] = (struct fiemap_extent){
			.fe_logical = start * EXERCISE_BLOCK,
			.fe_physical = start == moved ? MIB(500) : MIB(20) + start * EXERCISE_BLOCK,
			.fe_length = (end - start) * EXERCISE_BLOCK,
			.fe_flags = end == BLOCKS ? FIEMAP_EXTENT_LAST : 0,
		};
		start = end;
	}
	expect_fiemap(0, SIZE, FIEMAP_FLAG_SYNC, FIEMAP_ROOM, extents, count, 0);
}

static int setup(void **state)
{
	int fd = memfd_create("scratch", 0);

	if (ioctl_mock_setup(state) || fd < 0 || dup2(fd, MOCK_FD) != MOCK_FD || close(fd) ||
	    ftruncate(MOCK_FD, SIZE))
		return -1;
	expect_map(BLOCKS);
	return write_exercise_new(&exercise, MOCK_FD, SIZE);
}

static int teardown(void **state)
{
	write_exercise_free(exercise);
	close(MOCK_FD);
	return ioctl_mock_teardown(state);
}

/* How many bytes of the file are not 0. */
static uint64_t bytes_written(void)
{
	uint8_t bytes[SIZE];
	uint64_t count = 0;

	assert_int_equal(pread(MOCK_FD, bytes, SIZE, 0), SIZE);
	for (size_t i = 0; i < SIZE; i++)
		count += bytes[i] != 0;
	return count;
}

/* Every block once, and not more. */
TEST_WITH(test_once, setup, teardown)
{
	struct written written;

	assert_int_equal(write_exercise_run(exercise, LONG_ENOUGH, true, &written), 0);
	assert_int_equal(written.bytes, SIZE);
	assert_true(written.count >= BLOCKS / 16 && written.count <= BLOCKS);
	assert_true(written.elapsed_ns > 0 && written.elapsed_ns < LONG_ENOUGH);
	assert_int_equal(bytes_written(), SIZE);
}

/* Until the time is over, within the file. */
TEST_WITH(test_again_and_again, setup, teardown)
{
	struct written written;

	assert_int_equal(write_exercise_run(exercise, NANOSECONDS_PER_SECOND / 20, false, &written),
			 0);
	assert_true(written.elapsed_ns >= NANOSECONDS_PER_SECOND / 20);
	assert_true(written.bytes > SIZE);
	assert_int_equal(lseek(MOCK_FD, 0, SEEK_END), SIZE);
}

TEST_WITH(test_error, setup, teardown)
{
	struct written written = { .count = 99 };

	close(MOCK_FD);
	assert_int_equal(write_exercise_run(exercise, LONG_ENOUGH, true, &written), -EBADF);
	assert_int_equal(written.count, 99);
}

TEST_WITH(test_all_stayed, setup, teardown)
{
	const struct byte_range beyond = { 0, 2 * SIZE };
	struct write_verdict verdict;
	struct written written;

	write_exercise_predict(exercise, beyond);
	assert_int_equal(write_exercise_run(exercise, LONG_ENOUGH, true, &written), 0);
	expect_map(BLOCKS);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), 0);
	assert_int_equal(verdict.moved_bytes, 0);
	assert_int_equal(verdict.predicted_bytes, SIZE);
	assert_true(verdict.writes_known);
	assert_int_equal(verdict.proved_writes, written.count);
	assert_int_equal(verdict.predicted_writes, written.count);
}

/* A write that had one block in what moved is not proved, and likewise not predicted. */
TEST_WITH(test_one_block_moved, setup, teardown)
{
	const struct byte_range from_second = { EXERCISE_BLOCK, SIZE - EXERCISE_BLOCK };
	struct write_verdict verdict;
	struct written written;

	write_exercise_predict(exercise, from_second);
	assert_int_equal(write_exercise_run(exercise, LONG_ENOUGH, true, &written), 0);
	expect_map(BLOCKS / 2);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), 0);
	assert_int_equal(verdict.moved_bytes, EXERCISE_BLOCK);
	assert_int_equal(verdict.predicted_bytes, SIZE - EXERCISE_BLOCK);
	assert_int_equal(verdict.proved_writes, written.count - 1);
	assert_int_equal(verdict.predicted_writes, written.count - 1);
}

/* Of a program of somebody else's only all or nothing is known. */
TEST_WITH(test_unknown_writes, setup, teardown)
{
	const struct byte_range whole = { 0, SIZE };
	const struct written written = { .count = 7 };
	struct write_verdict verdict;

	write_exercise_predict(exercise, whole);
	expect_map(BLOCKS);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), 0);
	assert_true(verdict.writes_known);
	assert_int_equal(verdict.proved_writes, 7);
	expect_map(3);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), 0);
	assert_false(verdict.writes_known);
	assert_int_equal(verdict.moved_bytes, EXERCISE_BLOCK);
}

/* Nothing moved, but the prediction was for a part only: which writes were in it, nobody knows. */
TEST_WITH(test_unknown_writes_to_a_part, setup, teardown)
{
	const struct byte_range from_second = { EXERCISE_BLOCK, SIZE - EXERCISE_BLOCK };
	const struct written written = { .count = 7 };
	struct write_verdict verdict;

	write_exercise_predict(exercise, from_second);
	expect_map(BLOCKS);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), 0);
	assert_int_equal(verdict.moved_bytes, 0);
	assert_int_equal(verdict.predicted_bytes, SIZE - EXERCISE_BLOCK);
	assert_false(verdict.writes_known);
}

/* Blocks that are gone have not stayed. */
TEST_WITH(test_judge_hole_and_error, setup, teardown)
{
	const struct written written = { 0 };
	struct write_verdict verdict = { .moved_bytes = 99 };

	expect_fiemap(0, SIZE, FIEMAP_FLAG_SYNC, FIEMAP_ROOM, NULL, 0, EIO);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), -EIO);
	assert_int_equal(verdict.moved_bytes, 99);
	expect_fiemap(0, SIZE, FIEMAP_FLAG_SYNC, FIEMAP_ROOM, NULL, 0, 0);
	assert_int_equal(write_exercise_judge(exercise, &written, &verdict), 0);
	assert_int_equal(verdict.moved_bytes, SIZE);
}

#define FIO_JOB(error, bytes, runtime)                                                            \
	("{\"jobs\":[{\"error\":" error ",\"write\":{\"io_bytes\":" bytes ",\"runtime\":" runtime \
	 ",\"total_ios\":1}}]}")

TEST(test_fio)
{
	static const char good[] =
		"fio: a note\n{ \"fio version\" : \"fio-3.33\", \"jobs\" : [ { \"error\" : 0, "
		"\"write\" : { \"io_bytes\" : 4096, \"runtime\" : 2500, \"total_ios\" : 3 } } ] }";
	static const char *const bad[] = {
		"",
		"fio: no such file",
		"{",
		"[]",
		"{}",
		"{\"jobs\":3}",
		"{\"jobs\":[]}",
		"{\"jobs\":[7]}",
		"{\"jobs\":[{\"error\":0}]}",
		"{\"jobs\":[{\"error\":0,\"write\":[]}]}",
		FIO_JOB("28", "1", "1"),
		FIO_JOB("0", "-1", "1"),
		FIO_JOB("0", "1", "9e9"),
		FIO_JOB("0", "1", "9223372036854775807"),
	};
	struct written written = { .count = 99 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(fio_parse(bad[i], &written), -EPROTO);
	assert_int_equal(written.count, 99);
	assert_int_equal(fio_parse(good, &written), 0);
	assert_int_equal(written.count, 3);
	assert_int_equal(written.bytes, 4096);
	assert_int_equal(written.elapsed_ns, 2500000000);
}
