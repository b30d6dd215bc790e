// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../large-file.h"
#include "num/record-sort.h"
#include "test.h"

/* Room for the fewest records that a sort ever has room for. */
#define TINY 1

struct record {
	uint64_t key;
	uint64_t count;
};

static int compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static bool merge_equal(void *record, const void *next)
{
	struct record *r = record;
	const struct record *n = next;

	if (r->key != n->key)
		return false;
	r->count += n->count;
	return true;
}

static bool merge_never(void *record, const void *next)
{
	(void)record;
	(void)next;
	return false;
}

static const struct record_sort_ops merging = { sizeof(struct record), compare, merge_equal };
static const struct record_sort_ops keeping = { sizeof(struct record), compare, merge_never };

/* What pwrite() does; the program is linked with -Wl,--wrap=pwrite. */
static enum { WRITE_ALL, WRITE_IN_PIECES, WRITE_FULL_DISK, WRITE_ALMOST_FULL_DISK } write_mode;
static unsigned int write_count;
/* no file without a name (-Wl,--wrap=openat) */
static bool needs_names;
static int temporary_fd;

ssize_t __real_pwrite(int fd, const void *data, size_t size, off_t offset)
	LARGE_FILE_SYMBOL("__real_pwrite");
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
	LARGE_FILE_SYMBOL("__wrap_pwrite");
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
	write_count++;
	if (write_mode == WRITE_FULL_DISK) {
		errno = ENOSPC;
		return -1;
	}
	if (write_mode == WRITE_IN_PIECES && write_count % 2) {
		errno = EINTR;
		return -1;
	}
	if (write_mode == WRITE_IN_PIECES && size > 7)
		size = 7;
	/* as a disk has it where some blocks are left, and then where somebody makes room again */
	if (write_mode == WRITE_ALMOST_FULL_DISK) {
		write_mode = write_count == 1 ? WRITE_ALMOST_FULL_DISK : WRITE_ALL;
		if (write_count == 1)
			return __real_pwrite(fd, data, 7, offset);
		errno = ENOSPC;
		return -1;
	}
	return __real_pwrite(fd, data, size, offset);
}

int __real_openat(int directory, const char *path, int flags, mode_t mode)
	LARGE_FILE_SYMBOL("__real_openat");
int __wrap_openat(int directory, const char *path, int flags, mode_t mode)
	LARGE_FILE_SYMBOL("__wrap_openat");
int __wrap_openat(int directory, const char *path, int flags, mode_t mode)
{
	assert_int_equal(mode, 0600);
	if (needs_names && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	temporary_fd = __real_openat(directory, path, flags, mode);
	return temporary_fd;
}

static int setup(void **state)
{
	(void)state;
	write_mode = WRITE_ALL;
	write_count = 0;
	needs_names = false;
	srand(1);
	return unsetenv("TMPDIR");
}

static void assert_next(struct record_sort *sort, uint64_t key, uint64_t count)
{
	struct record record;

	assert_int_equal(record_sort_next(sort, &record), 1);
	assert_int_equal(record.key, key);
	assert_int_equal(record.count, count);
}

static void assert_end(struct record_sort *sort)
{
	struct record record;

	assert_int_equal(record_sort_next(sort, &record), 0);
	assert_int_equal(record_sort_next(sort, &record), 0);
}

static struct record *random_records(size_t count, uint64_t key_limit)
{
	struct record *records = calloc(count, sizeof(*records));

	assert_non_null(records);
	for (size_t i = 0; i < count; i++)
		records[i] = (struct record){ .key = rand() % key_limit, .count = 1 };
	return records;
}

/* Sorts RECORDS both ways and compares. */
static void compare_with_qsort(struct record *records, size_t count,
			       const struct record_sort_ops *ops, size_t memory)
{
	struct record_sort *sort;

	assert_int_equal(record_sort_new(&sort, ops, memory), 0);
	for (size_t i = 0; i < count; i++)
		record_sort_add(sort, &records[i]);
	assert_int_equal(record_sort_finish(sort), 0);

	qsort(records, count, sizeof(*records), compare);
	for (size_t i = 0; i < count;) {
		struct record expected = records[i++];

		while (i < count && ops->merge(&expected, &records[i]))
			i++;
		assert_next(sort, expected.key, expected.count);
	}
	assert_end(sort);
	record_sort_free(sort);
}

TEST_WITH(test_empty, setup, NULL)
{
	struct record none;

	compare_with_qsort(&none, 0, &merging, TINY);
	assert_int_equal(write_count, 0);
}

TEST_WITH(test_one_record, setup, NULL)
{
	struct record record = { 7, 1 };

	compare_with_qsort(&record, 1, &merging, TINY);
	assert_int_equal(write_count, 0);
}

TEST_WITH(test_random_in_memory, setup, NULL)
{
	struct record *records = random_records(5000, 1000);

	compare_with_qsort(records, 5000, &merging, 5000 * sizeof(*records));
	compare_with_qsort(records, 5000, &keeping, 5000 * sizeof(*records));
	assert_int_equal(write_count, 0);
	free(records);
}

TEST_WITH(test_random_in_many_runs, setup, NULL)
{
	static const uint64_t key_limits[] = { 10, 1000, RAND_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(key_limits); i++) {
		for (size_t count = 1; count < 6000; count = count * 3 + 1) {
			struct record *records = random_records(count, key_limits[i]);

			compare_with_qsort(records, count, &merging, TINY);
			free(records);
			records = random_records(count, key_limits[i]);
			compare_with_qsort(records, count, &keeping, TINY);
			free(records);
		}
	}
	/* there were runs to speak of */
	assert_true(write_count > 100);
}

/* Runs longer than the buffers through which they are read back. */
TEST_WITH(test_runs_longer_than_their_buffer, setup, NULL)
{
	struct record *records = random_records(20000, RAND_MAX);

	compare_with_qsort(records, 20000, &keeping, 5000 * sizeof(*records));
	assert_in_range(write_count, 2, 10);
	free(records);
}

/* The same keys in every run become one record each. */
TEST_WITH(test_merges_across_runs, setup, NULL)
{
	struct record_sort *sort;

	assert_int_equal(record_sort_new(&sort, &merging, TINY), 0);
	for (size_t round = 0; round < 10; round++) {
		for (uint64_t key = 40; key > 0; key--) {
			const struct record record = { key, 1 };

			record_sort_add(sort, &record);
		}
	}
	assert_int_equal(record_sort_finish(sort), 0);
	assert_true(write_count > 2);
	for (uint64_t key = 1; key <= 40; key++)
		assert_next(sort, key, 10);
	assert_end(sort);
	record_sort_free(sort);
}

/* However many there are, what merges at once takes no room. */
TEST_WITH(test_merging_neighbours_do_not_spill, setup, NULL)
{
	struct record_sort *sort;

	assert_int_equal(record_sort_new(&sort, &merging, TINY), 0);
	for (size_t i = 0; i < 100000; i++) {
		const struct record record = { i / 20000, 1 };

		record_sort_add(sort, &record);
	}
	assert_int_equal(record_sort_finish(sort), 0);
	assert_int_equal(write_count, 0);
	for (uint64_t key = 0; key < 5; key++)
		assert_next(sort, key, 20000);
	assert_end(sort);
	record_sort_free(sort);
}

TEST_WITH(test_writes_in_pieces, setup, NULL)
{
	struct record *records = random_records(500, RAND_MAX);

	write_mode = WRITE_IN_PIECES;
	compare_with_qsort(records, 500, &keeping, TINY);
	assert_true(write_count > 1000);
	free(records);
}

/* What does not fit into memory */
static void add_many(struct record_sort *sort)
{
	for (uint64_t key = 0; key < 1000; key++) {
		const struct record record = { key, 1 };

		record_sort_add(sort, &record);
	}
}

static void assert_failed_in(struct record_sort *sort, int expected, const char *directory)
{
	struct record record;

	assert_int_equal(record_sort_finish(sort), expected);
	assert_string_equal(record_sort_failed_in(sort), directory);
	/* whatever is asked for afterwards */
	assert_int_equal(record_sort_finish(sort), expected);
	assert_int_equal(record_sort_next(sort, &record), expected);
	record_sort_free(sort);
}

static void assert_spilling_fails(int expected, const char *directory)
{
	struct record_sort *sort;

	assert_int_equal(record_sort_new(&sort, &keeping, TINY), 0);
	add_many(sort);
	assert_failed_in(sort, expected, directory);
}

TEST_WITH(test_full_disk, setup, NULL)
{
	write_mode = WRITE_FULL_DISK;
	assert_spilling_fails(-ENOSPC, "/var/tmp");
	assert_int_equal(write_count, 1);
}

/* A part of the first records is in the file: none may come to stand after it. */
TEST_WITH(test_disk_gets_full_in_a_write, setup, NULL)
{
	write_mode = WRITE_ALMOST_FULL_DISK;
	assert_spilling_fails(-ENOSPC, "/var/tmp");
	assert_int_equal(write_count, 2);
}

TEST_WITH(test_disk_is_full_at_the_end, setup, NULL)
{
	struct record_sort *sort;

	assert_int_equal(record_sort_new(&sort, &keeping, TINY), 0);
	add_many(sort);
	assert_null(record_sort_failed_in(sort));
	write_mode = WRITE_FULL_DISK;
	assert_failed_in(sort, -ENOSPC, "/var/tmp");
}

TEST_WITH(test_unusable_temporary_directory, setup, NULL)
{
	setenv("TMPDIR", "/nonexistent/directory", 1);
	assert_spilling_fails(-ENOENT, "/nonexistent/directory");
	setenv("TMPDIR", "/dev/null", 1);
	assert_spilling_fails(-ENOTDIR, "/dev/null");
}

/* proc has neither unnamed temporary files nor room for named ones. */
TEST_WITH(test_temporary_directory_without_temporary_files, setup, NULL)
{
	struct record_sort *sort;

	setenv("TMPDIR", "/proc/self", 1);
	assert_int_equal(record_sort_new(&sort, &keeping, TINY), 0);
	add_many(sort);
	assert_true(record_sort_finish(sort) < 0);
	assert_string_equal(record_sort_failed_in(sort), "/proc/self");
	record_sort_free(sort);
}

TEST_WITH(test_empty_temporary_directory_is_the_default, setup, NULL)
{
	struct record *records = random_records(100, RAND_MAX);

	setenv("TMPDIR", "", 1);
	compare_with_qsort(records, 100, &keeping, TINY);
	assert_true(write_count > 0);
	free(records);
}

/* Nothing that an interrupted program leaves behind: the file has no name from the start. */
TEST_WITH(test_temporary_file_has_no_name, setup, NULL)
{
	char directory[] = "/tmp/test-record-sort-XXXXXX";
	struct record_sort *sort;

	assert_non_null(mkdtemp(directory));
	setenv("TMPDIR", directory, 1);
	for (int i = 0; i < 2; i++) {
		needs_names = i == 1;
		write_count = 0;
		assert_int_equal(record_sort_new(&sort, &keeping, TINY), 0);
		add_many(sort);
		assert_true(write_count > 0);
		assert_int_equal(rmdir(directory), 0);
		assert_int_equal(record_sort_finish(sort), 0);
		for (uint64_t key = 0; key < 1000; key++)
			assert_next(sort, key, 1);
		assert_end(sort);
		record_sort_free(sort);
		assert_int_equal(mkdir(directory, 0700), 0);
	}
	assert_int_equal(rmdir(directory), 0);
}

TEST_WITH(test_temporary_file_cut_short, setup, NULL)
{
	struct record_sort *sort;
	struct record record;

	assert_int_equal(record_sort_new(&sort, &keeping, TINY), 0);
	add_many(sort);
	assert_int_equal(record_sort_finish(sort), 0);
	assert_int_equal(ftruncate(temporary_fd, 100), 0);
	assert_null(record_sort_failed_in(sort));
	assert_int_equal(record_sort_next(sort, &record), -EIO);
	assert_string_equal(record_sort_failed_in(sort), "/var/tmp");
	record_sort_free(sort);
}
