// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "kernel-answers.h"
#include "sharing/owner-summary.h"
#include "test.h"

#define SUBVOLID 256
#define INODE 300
#define FIRST_SIZE 4096

static struct owner_summary *summary;
static uint64_t last_progress;

static void on_progress(uint64_t asked)
{
	assert_true(asked > last_progress);
	last_progress = asked;
}

static int setup(void **state)
{
	last_progress = 0;
	return ioctl_mock_setup(state) || owner_summary_new(&summary);
}

static int teardown(void **state)
{
	owner_summary_free(summary);
	return ioctl_mock_teardown(state);
}

/* LENGTH bytes from START on of the data extent at BYTENR, in a file of the first subvolume. */
static void add(uint64_t inode, uint64_t bytenr, uint64_t start, uint64_t length, bool shared)
{
	const struct file_extent extent = { .disk_bytenr = bytenr, .extent_offset = start / 2 };

	owner_summary_add(summary, SUBVOLID, inode, &extent, start - start / 2, length, shared);
}

static void expect_refs(uint64_t bytenr, const struct extent_ref *refs, uint32_t count)
{
	expect_logical_ino(bytenr, FIRST_SIZE, refs, count, 0, 0, 0);
}

static void assert_subvolumes(const struct subvolume_owners *expected, size_t expected_count)
{
	const struct subvolume_owners *list;
	size_t count;

	assert_int_equal(owner_summary_resolve(summary, MOCK_FD, NULL, NULL, on_progress), 0);
	list = owner_summary_list(summary, &count);
	assert_int_equal(count, expected_count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list[i].subvolid, expected[i].subvolid);
		assert_int_equal(list[i].file_count, expected[i].file_count);
		assert_int_equal(list[i].extent_count, expected[i].extent_count);
		assert_int_equal(list[i].bytes, expected[i].bytes);
	}
}

TEST_WITH(test_no_extents, setup, teardown)
{
	assert_subvolumes(NULL, 0);
}

/* By falling bytes, and by id if they are equal; a file counts once, and not the one examined. */
TEST_WITH(test_subvolumes, setup, teardown)
{
	static const struct extent_ref first[] = {
		{ INODE, 0, SUBVOLID }, { 301, 0, SUBVOLID }, { 301, KIB(8), SUBVOLID },
		{ INODE, 0, 259 },	{ INODE, 0, 257 },
	};
	static const struct extent_ref second[] = {
		{ INODE, KIB(4), SUBVOLID },
		{ INODE, KIB(4), 259 },
		{ 302, 0, 258 },
		{ 303, 0, 258 },
	};
	static const struct subvolume_owners expected[] = {
		{ 259, 1, 2, KIB(12) },
		{ 258, 2, 1, KIB(8) },
		{ 256, 1, 1, KIB(4) },
		{ 257, 1, 1, KIB(4) },
	};

	add(INODE, MIB(2), 0, KIB(8), true);
	add(INODE, MIB(1), KIB(4), KIB(4), true);
	expect_refs(MIB(1), first, ARRAY_SIZE(first));
	expect_refs(MIB(2), second, ARRAY_SIZE(second));
	assert_subvolumes(expected, ARRAY_SIZE(expected));
	assert_int_equal(owner_summary_incomplete_count(summary), 0);
}

/* Bytes of two examined files overlap, and each of the files is another one for the other. */
TEST_WITH(test_files_that_share, setup, teardown)
{
	static const struct extent_ref refs[] = {
		{ INODE, 0, SUBVOLID },
		{ 301, 0, SUBVOLID },
		{ INODE, 0, 257 },
	};
	static const struct subvolume_owners expected[] = {
		{ 256, 2, 1, KIB(20) },
		{ 257, 1, 1, KIB(20) },
	};

	add(301, MIB(1), KIB(4), KIB(8), true);
	add(INODE, MIB(1), 0, KIB(8), true);
	/* apart from both */
	add(INODE, MIB(1), KIB(64), KIB(8), true);
	expect_refs(MIB(1), refs, ARRAY_SIZE(refs));
	assert_subvolumes(expected, ARRAY_SIZE(expected));
}

/* The second file has another part, so that their pieces are not merged. */
TEST_WITH(test_files_apart, setup, teardown)
{
	static const struct extent_ref refs[] = { { INODE, 0, SUBVOLID }, { 301, 0, SUBVOLID } };
	static const struct subvolume_owners expected[] = { { 256, 2, 1, KIB(8) } };

	add(INODE, MIB(1), 0, KIB(4), true);
	add(301, MIB(1), KIB(64), KIB(4), true);
	expect_refs(MIB(1), refs, ARRAY_SIZE(refs));
	assert_subvolumes(expected, ARRAY_SIZE(expected));
}

/* A file with an extent twice shares it with itself if FIEMAP says so, and else is split. */
TEST_WITH(test_shared_with_itself, setup, teardown)
{
	static const struct extent_ref refs[] = {
		{ INODE, 0, SUBVOLID },
		{ INODE, MIB(1), SUBVOLID },
	};
	static const struct subvolume_owners expected[] = { { 256, 1, 1, KIB(4) } };

	add(INODE, MIB(1), 0, KIB(4), true);
	add(INODE, MIB(1), 0, KIB(4), false);
	add(INODE, MIB(2), 0, KIB(4), false);
	add(INODE, MIB(3), 0, KIB(4), true);
	expect_refs(MIB(1), refs, 2);
	expect_refs(MIB(2), refs, 2);
	/* the other reference is gone */
	expect_refs(MIB(3), refs, 1);
	assert_subvolumes(expected, ARRAY_SIZE(expected));
}

TEST_WITH(test_what_is_gone_or_too_much, setup, teardown)
{
	static const struct extent_ref refs[] = { { INODE, 0, SUBVOLID }, { 301, 0, 257 } };
	static const struct subvolume_owners expected[] = { { 257, 1, 1, KIB(4) } };

	add(INODE, MIB(1), 0, KIB(4), true);
	add(INODE, MIB(2), 0, KIB(4), true);
	expect_logical_ino(MIB(1), FIRST_SIZE, NULL, 0, 0, 0, ENOENT);
	expect_refs(MIB(2), refs, 2);
	assert_subvolumes(expected, ARRAY_SIZE(expected));
}

TEST_WITH(test_errors, setup, teardown)
{
	size_t count = 99;

	add(INODE, MIB(1), 0, KIB(4), true);
	expect_logical_ino(MIB(1), FIRST_SIZE, NULL, 0, 0, 0, EPERM);
	assert_int_equal(owner_summary_resolve(summary, MOCK_FD, NULL, NULL, on_progress), -EPERM);
	assert_null(owner_summary_failed_in(summary));
	assert_null(owner_summary_list(summary, &count));
	assert_int_equal(count, 0);
}
