// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fiemap.h"
#include "kernel-answers.h"
#include "sys/cleanup.h"
#include "test.h"

#define LAST FIEMAP_EXTENT_LAST
#define SHARED FIEMAP_EXTENT_SHARED
#define ENCODED FIEMAP_EXTENT_ENCODED

#define EXTENT(offset, bytenr, length, flags)                                           \
	{                                                                               \
		.fe_logical = (offset), .fe_physical = (bytenr), .fe_length = (length), \
		.fe_flags = (flags)                                                     \
	}

static struct fiemap_iter *iter;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || fiemap_iter_new(&iter);
}

static int teardown(void **state)
{
	fiemap_iter_free(iter);
	return ioctl_mock_teardown(state);
}

static void assert_extent(const struct mapped_extent *extent, uint64_t offset, uint64_t bytenr,
			  uint64_t length, uint32_t flags)
{
	assert_int_equal(extent->offset, offset);
	assert_int_equal(extent->bytenr, bytenr);
	assert_int_equal(extent->length, length);
	assert_int_equal(extent->flags, flags);
}

static void assert_next(uint64_t offset, uint64_t bytenr, uint64_t length, uint32_t flags)
{
	struct mapped_extent extent;

	assert_int_equal(fiemap_iter_next(iter, &extent), 1);
	assert_extent(&extent, offset, bytenr, length, flags);
}

/* Nothing more comes, and the result is not touched. */
static void assert_ends_with(int ret)
{
	struct mapped_extent extent = { 1, 2, 3, 4 };

	assert_int_equal(fiemap_iter_next(iter, &extent), ret);
	assert_extent(&extent, 1, 2, 3, 4);
}

static void expect_whole(const struct fiemap_extent *extents, uint32_t count, int error)
{
	expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, extents, count, error);
}

TEST_WITH(test_one_answer, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		EXTENT(0, MIB(1), KIB(4), SHARED),
		EXTENT(KIB(4), MIB(2), KIB(8), SHARED | ENCODED),
		EXTENT(MIB(1), 0, KIB(4), FIEMAP_EXTENT_DATA_INLINE | LAST),
	};

	expect_whole(extents, 3, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(4), SHARED);
	assert_next(KIB(4), MIB(2), KIB(8), SHARED | ENCODED);
	assert_next(MIB(1), 0, KIB(4), FIEMAP_EXTENT_DATA_INLINE | LAST);
	assert_ends_with(0);
	/* the end stays the end, without another call */
	assert_ends_with(0);
	assert_int_equal(fiemap_iter_calls(iter), 1);
}

TEST_WITH(test_empty_file, setup, teardown)
{
	expect_whole(NULL, 0, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_ends_with(0);
}

TEST_WITH(test_short_answers_are_followed_up, setup, teardown)
{
	static const struct fiemap_extent first[] = {
		EXTENT(0, MIB(1), KIB(4), 0),
		EXTENT(KIB(16), MIB(2), KIB(4), 0),
	};
	static const struct fiemap_extent second[] = { EXTENT(KIB(64), MIB(3), KIB(4), 0) };
	static const struct fiemap_extent third[] = { EXTENT(KIB(68), MIB(4), KIB(4), LAST) };

	expect_whole(first, 2, 0);
	expect_fiemap(KIB(20), UINT64_MAX - KIB(20), 0, FIEMAP_ROOM, second, 1, 0);
	expect_fiemap(KIB(68), UINT64_MAX - KIB(68), 0, FIEMAP_ROOM, third, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(4), 0);
	assert_next(KIB(16), MIB(2), KIB(4), 0);
	assert_next(KIB(64), MIB(3), KIB(4), 0);
	assert_next(KIB(68), MIB(4), KIB(4), LAST);
	assert_ends_with(0);
	assert_int_equal(fiemap_iter_calls(iter), 3);
}

TEST_WITH(test_full_answer_is_followed_up, setup, teardown)
{
	struct fiemap_extent *extents = calloc(FIEMAP_ROOM, sizeof(*extents));
	const uint64_t end = KIB(4) * FIEMAP_ROOM;

	assert_non_null(extents);
	for (size_t i = 0; i < FIEMAP_ROOM; i++)
		extents[i] = (struct fiemap_extent)EXTENT(KIB(4) * i, MIB(1) + KIB(8) * i, KIB(4),
							  0);
	expect_whole(extents, FIEMAP_ROOM, 0);
	free(extents);
	expect_fiemap(end, UINT64_MAX - end, 0, FIEMAP_ROOM, NULL, 0, 0);

	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	for (size_t i = 0; i < FIEMAP_ROOM; i++)
		assert_next(KIB(4) * i, MIB(1) + KIB(8) * i, KIB(4), 0);
	assert_ends_with(0);
}

TEST_WITH(test_range_and_flags_are_asked_for, setup, teardown)
{
	static const struct fiemap_extent first[] = { EXTENT(KIB(8), MIB(1), KIB(4), 0) };
	static const struct fiemap_extent second[] = { EXTENT(KIB(12), MIB(2), KIB(4), 0) };

	expect_fiemap(KIB(8), KIB(8), FIEMAP_FLAG_SYNC, FIEMAP_ROOM, first, 1, 0);
	expect_fiemap(KIB(12), KIB(4), FIEMAP_FLAG_SYNC, FIEMAP_ROOM, second, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, (struct byte_range){ KIB(8), KIB(8) }, FIEMAP_FLAG_SYNC);
	assert_next(KIB(8), MIB(1), KIB(4), 0);
	assert_next(KIB(12), MIB(2), KIB(4), 0);
	/* the range is covered, so there is nothing left to ask for */
	assert_ends_with(0);
}

TEST_WITH(test_extents_are_not_cut_to_the_range, setup, teardown)
{
	static const struct fiemap_extent extents[] = { EXTENT(0, MIB(1), MIB(1), 0) };

	expect_fiemap(KIB(8), KIB(8), 0, FIEMAP_ROOM, extents, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, (struct byte_range){ KIB(8), KIB(8) }, 0);
	assert_next(0, MIB(1), MIB(1), 0);
	assert_ends_with(0);
}

TEST_WITH(test_range_beyond_the_largest_offset, setup, teardown)
{
	expect_fiemap(UINT64_MAX - 10, 10, 0, FIEMAP_ROOM, NULL, 0, 0);
	fiemap_iter_start(iter, MOCK_FD, (struct byte_range){ UINT64_MAX - 10, KIB(4) }, 0);
	assert_ends_with(0);
}

TEST_WITH(test_empty_range_makes_no_call, setup, teardown)
{
	fiemap_iter_start(iter, MOCK_FD, (struct byte_range){ KIB(4), 0 }, 0);
	assert_ends_with(0);
	assert_int_equal(fiemap_iter_calls(iter), 0);
}

TEST_WITH(test_interrupted_call_is_made_again, setup, teardown)
{
	static const struct fiemap_extent extents[] = { EXTENT(0, MIB(1), KIB(4), LAST) };

	expect_whole(NULL, 0, EINTR);
	expect_whole(NULL, 0, EINTR);
	expect_whole(extents, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(4), LAST);
	assert_ends_with(0);
}

TEST_WITH(test_range_after_the_largest_file, setup, teardown)
{
	const struct byte_range after = { UINT64_C(15) << 60, KIB(4) };
	uint32_t count = 99;

	expect_fiemap(after.offset, after.length, 0, FIEMAP_ROOM, NULL, 0, EFBIG);
	fiemap_iter_start(iter, MOCK_FD, after, 0);
	assert_ends_with(0);
	expect_fiemap(after.offset, after.length, 0, 0, NULL, 0, EFBIG);
	assert_int_equal(fiemap_count(MOCK_FD, after, &count), 0);
	assert_int_equal(count, 0);
}

TEST_WITH(test_errors_are_passed_on, setup, teardown)
{
	static const int errors[] = { ENOTTY, EPERM, EOPNOTSUPP, EBADR, ENOMEM };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_whole(NULL, 0, errors[i]);
		fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
		assert_ends_with(-errors[i]);
	}
}

TEST_WITH(test_error_in_the_second_call, setup, teardown)
{
	static const struct fiemap_extent extents[] = { EXTENT(0, MIB(1), KIB(4), 0) };

	expect_whole(extents, 1, 0);
	expect_fiemap(KIB(4), UINT64_MAX - KIB(4), 0, FIEMAP_ROOM, NULL, 0, EIO);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(4), 0);
	assert_ends_with(-EIO);
}

/* The iterator is used for one file after another. */
TEST_WITH(test_start_forgets_what_was_left, setup, teardown)
{
	static const struct fiemap_extent before[] = {
		EXTENT(0, MIB(1), KIB(4), 0),
		EXTENT(KIB(4), MIB(2), KIB(4), LAST),
	};
	static const struct fiemap_extent after[] = { EXTENT(0, MIB(9), KIB(4), LAST) };

	expect_whole(before, 2, 0);
	expect_whole(after, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(4), 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(9), KIB(4), LAST);
	assert_ends_with(0);
	assert_int_equal(fiemap_iter_calls(iter), 1);
}

TEST_WITH(test_count_beyond_the_buffer, setup, teardown)
{
	static const struct fiemap_extent extents[] = { EXTENT(0, MIB(1), KIB(4), LAST) };
	static const uint32_t counts[] = { FIEMAP_ROOM + 1, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct fiemap claimed = { .fm_mapped_extents = counts[i] };

		expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, NULL, counts[i], 0);
		fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
		assert_ends_with(-EPROTO);
		assert_int_equal(fiemap_check_answer(&claimed, sizeof(claimed)), -EPROTO);
	}

	/* what a broken answer left must not be taken for extents */
	expect_whole(extents, 1, 0);
	assert_next(0, MIB(1), KIB(4), LAST);
}

TEST_WITH(test_no_progress, setup, teardown)
{
	static const struct fiemap_extent first[] = { EXTENT(0, MIB(1), KIB(8), 0) };
	static const struct fiemap_extent again[] = { EXTENT(KIB(4), MIB(1), KIB(4), 0) };

	expect_whole(first, 1, 0);
	expect_fiemap(KIB(8), UINT64_MAX - KIB(8), 0, FIEMAP_ROOM, again, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(8), 0);
	assert_ends_with(-EPROTO);
}

TEST_WITH(test_last_extent_may_lie_before_the_position, setup, teardown)
{
	static const struct fiemap_extent first[] = { EXTENT(0, MIB(1), KIB(8), 0) };
	static const struct fiemap_extent truncated[] = { EXTENT(0, MIB(1), KIB(4), LAST) };

	expect_whole(first, 1, 0);
	expect_fiemap(KIB(8), UINT64_MAX - KIB(8), 0, FIEMAP_ROOM, truncated, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(8), 0);
	assert_ends_with(0);
}

TEST_WITH(test_extents_out_of_order, setup, teardown)
{
	static const struct fiemap_extent extents[][2] = {
		/* the second starts before the first, inside it, or at the same place */
		{ EXTENT(KIB(8), MIB(1), KIB(4), 0), EXTENT(0, MIB(2), KIB(4), LAST) },
		{ EXTENT(0, MIB(1), KIB(8), 0), EXTENT(KIB(4), MIB(2), KIB(8), LAST) },
		{ EXTENT(0, MIB(1), KIB(4), 0), EXTENT(0, MIB(2), KIB(4), LAST) },
		{ EXTENT(0, MIB(1), KIB(4), 0), EXTENT(KIB(4) - 1, MIB(2), KIB(4), LAST) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(extents); i++) {
		expect_whole(extents[i], 2, 0);
		fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
		assert_ends_with(-EPROTO);
	}
}

TEST_WITH(test_extent_that_overflows, setup, teardown)
{
	static const struct fiemap_extent too_long[] = {
		EXTENT(KIB(4), MIB(1), UINT64_MAX - KIB(4) + 1, LAST),
	};
	static const struct fiemap_extent longest[] = {
		EXTENT(KIB(4), MIB(1), INT64_MAX - MIB(1), LAST),
	};
	static const struct fiemap_extent beyond[] = {
		EXTENT(KIB(4), MIB(1), INT64_MAX - MIB(1) + 1, LAST),
	};

	expect_whole(too_long, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_ends_with(-EPROTO);

	expect_whole(longest, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(KIB(4), MIB(1), INT64_MAX - MIB(1), LAST);

	/* data has no address there */
	expect_whole(beyond, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_ends_with(-EPROTO);
}

TEST_WITH(test_empty_extents_are_left_out, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		EXTENT(0, MIB(1), 0, 0),	  EXTENT(0, MIB(2), KIB(4), 0),
		EXTENT(KIB(4), MIB(3), 0, 0),	  EXTENT(KIB(8), MIB(4), KIB(4), 0),
		EXTENT(KIB(16), MIB(5), 0, LAST),
	};

	expect_whole(extents, 5, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(2), KIB(4), 0);
	assert_next(KIB(8), MIB(4), KIB(4), 0);
	assert_ends_with(0);
}

/* Asking again from the same place would never end. */
TEST_WITH(test_empty_extent_is_no_progress, setup, teardown)
{
	static const struct fiemap_extent ahead[] = { EXTENT(KIB(8), MIB(1), 0, 0) };
	static const struct fiemap_extent first[] = { EXTENT(0, MIB(1), KIB(4), 0) };

	expect_whole(ahead, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_ends_with(-EPROTO);

	expect_whole(first, 1, 0);
	expect_fiemap(KIB(4), UINT64_MAX - KIB(4), 0, FIEMAP_ROOM, ahead, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(4), 0);
	assert_ends_with(-EPROTO);
}

/* Between two calls the file was rewritten with larger extents. */
TEST_WITH(test_extent_that_starts_before_the_position_is_cut, setup, teardown)
{
	static const struct fiemap_extent first[] = { EXTENT(0, MIB(1), KIB(8), 0) };
	static const struct fiemap_extent changed[] = {
		EXTENT(0, MIB(7), KIB(4), 0),
		EXTENT(KIB(4), MIB(8), KIB(12), 0),
		EXTENT(KIB(16), MIB(9), KIB(4), LAST),
	};
	static const struct fiemap_extent compressed[] = {
		EXTENT(KIB(4), MIB(8), KIB(12), ENCODED | LAST),
	};

	expect_whole(first, 1, 0);
	expect_fiemap(KIB(8), UINT64_MAX - KIB(8), 0, FIEMAP_ROOM, changed, 3, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(8), 0);
	assert_next(KIB(8), MIB(8) + KIB(4), KIB(8), 0);
	assert_next(KIB(16), MIB(9), KIB(4), LAST);
	assert_ends_with(0);

	expect_whole(first, 1, 0);
	expect_fiemap(KIB(8), UINT64_MAX - KIB(8), 0, FIEMAP_ROOM, compressed, 1, 0);
	fiemap_iter_start(iter, MOCK_FD, WHOLE_FILE, 0);
	assert_next(0, MIB(1), KIB(8), 0);
	assert_next(KIB(8), MIB(8), KIB(8), ENCODED | LAST);
	assert_ends_with(0);
}

TEST(test_check_truncated_header)
{
	const struct fiemap header = { 0 };

	for (size_t size = 0; size < sizeof(header); size++)
		assert_int_equal(fiemap_check_answer(&header, size), -EPROTO);
	assert_int_equal(fiemap_check_answer(&header, sizeof(header)), 0);
}

/* The last extent must be there as a whole. */
TEST(test_check_truncated_extent)
{
	char buffer[sizeof(struct fiemap) + sizeof(struct fiemap_extent)] = { 0 };
	const struct fiemap header = { .fm_mapped_extents = 1 };

	memcpy(buffer, &header, sizeof(header));
	assert_int_equal(fiemap_check_answer(buffer, sizeof(buffer)), 0);
	assert_int_equal(fiemap_check_answer(buffer, sizeof(buffer) - 1), -EPROTO);
}

TEST_WITH(test_count, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t count = 0;

	expect_fiemap(0, UINT64_MAX, 0, 0, NULL, 300000, 0);
	assert_int_equal(fiemap_count(MOCK_FD, WHOLE_FILE, &count), 0);
	assert_int_equal(count, 300000);

	expect_fiemap(KIB(4), KIB(8), 0, 0, NULL, 0, EINTR);
	expect_fiemap(KIB(4), KIB(8), 0, 0, NULL, 2, 0);
	assert_int_equal(fiemap_count(MOCK_FD, (struct byte_range){ KIB(4), KIB(8) }, &count), 0);
	assert_int_equal(count, 2);
}

TEST_WITH(test_count_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const int errors[] = { ENOTTY, EPERM, EOPNOTSUPP };
	uint32_t count = 5;

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_fiemap(0, UINT64_MAX, 0, 0, NULL, 1, errors[i]);
		assert_int_equal(fiemap_count(MOCK_FD, WHOLE_FILE, &count), -errors[i]);
		assert_int_equal(count, 5);
	}
}

TEST(test_clip)
{
	static const struct {
		struct mapped_extent extent;
		struct byte_range range;
		struct mapped_extent clipped;
	} cases[] = {
		/* inside, equal, cut at the end, at the start, on both sides */
		{ { 8, 100, 8, 0 }, { 0, 64 }, { 8, 100, 8, 0 } },
		{ { 8, 100, 8, 0 }, { 8, 8 }, { 8, 100, 8, 0 } },
		{ { 8, 100, 8, SHARED }, { 0, 10 }, { 8, 100, 2, SHARED } },
		{ { 8, 100, 8, SHARED }, { 10, 64 }, { 10, 102, 6, SHARED } },
		{ { 8, 100, 8, 0 }, { 10, 2 }, { 10, 102, 2, 0 } },
		/* what is cut at its end is not the last extent any more, what is cut at its start is */
		{ { 8, 100, 8, FIEMAP_EXTENT_LAST }, { 0, 10 }, { 8, 100, 2, 0 } },
		{ { 8, 100, 8, FIEMAP_EXTENT_LAST },
		  { 10, 64 },
		  { 10, 102, 6, FIEMAP_EXTENT_LAST } },
		/* the parts of a compressed extent have no address of their own */
		{ { 8, 100, 8, ENCODED }, { 10, 2 }, { 10, 100, 2, ENCODED } },
		/* no address to move */
		{ { 8, 0, 8, FIEMAP_EXTENT_DELALLOC },
		  { 10, 2 },
		  { 10, 0, 2, FIEMAP_EXTENT_DELALLOC } },
		/* a range that ends beyond the largest offset */
		{ { 8, 100, 8, 0 }, { 12, UINT64_MAX }, { 12, 104, 4, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mapped_extent extent = cases[i].extent;

		assert_int_equal(mapped_extent_clip(&extent, cases[i].range), 1);
		assert_extent(&extent, cases[i].clipped.offset, cases[i].clipped.bytenr,
			      cases[i].clipped.length, cases[i].clipped.flags);
	}
}

TEST(test_clip_to_nothing)
{
	static const struct mapped_extent extent = { 8, 100, 8, 0 };
	static const struct byte_range ranges[] = { { 0, 8 }, { 16, 8 }, { 10, 0 }, { 64, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct mapped_extent clipped = extent;

		assert_int_equal(mapped_extent_clip(&clipped, ranges[i]), 0);
		assert_extent(&clipped, extent.offset, extent.bytenr, extent.length, extent.flags);
	}
}
