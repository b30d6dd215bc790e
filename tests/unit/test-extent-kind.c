// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "kernel-answers.h"
#include "seek/extent-kind.h"
#include "test.h"

static struct fiemap_iter *iter;
static struct kind_walk walk;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || fiemap_iter_new(&iter);
}

static int teardown(void **state)
{
	fiemap_iter_free(iter);
	return ioctl_mock_teardown(state);
}

#define EXTENT(offset, length, flags)                                              \
	{                                                                          \
		.fe_logical = (offset), .fe_length = (length), .fe_flags = (flags) \
	}

#define LAST FIEMAP_EXTENT_LAST
#define UNWRITTEN FIEMAP_EXTENT_UNWRITTEN
#define DELALLOC (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN)
#define INLINE (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED)

static void start(const struct fiemap_extent *extents, uint32_t count)
{
	expect_fiemap(0, FIEMAP_MAX_OFFSET, 0, FIEMAP_ROOM, extents, count, 0);
	assert_int_equal(kind_walk_start(&walk, iter, MOCK_FD, WHOLE_FILE), 0);
}

static void assert_at(uint64_t offset, uint64_t end, enum extent_kind kind, uint64_t kind_end)
{
	enum extent_kind found;
	uint64_t found_end;

	assert_int_equal(kind_walk_at(&walk, offset, end, &found, &found_end), 0);
	assert_string_equal(extent_kind_names[found], extent_kind_names[kind]);
	assert_int_equal(found_end, kind_end);
}

TEST_WITH(test_kind_of, setup, teardown)
{
	static const struct {
		uint32_t flags;
		enum extent_kind kind;
		bool is_data;
	} cases[] = {
		{ 0, EXTENT_KIND_REGULAR, true },
		{ FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_SHARED, EXTENT_KIND_REGULAR, true },
		{ INLINE | FIEMAP_EXTENT_ENCODED, EXTENT_KIND_INLINE, true },
		{ UNWRITTEN | LAST, EXTENT_KIND_PREALLOC, false },
		{ DELALLOC, EXTENT_KIND_DELALLOC, true },
		/* written, over preallocated space */
		{ DELALLOC | UNWRITTEN, EXTENT_KIND_DELALLOC, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mapped_extent extent = { .flags = cases[i].flags };

		assert_int_equal(extent_kind_of(&extent), cases[i].kind);
		assert_int_equal(extent_kind_is_data(extent_kind_of(&extent)), cases[i].is_data);
	}
	assert_false(extent_kind_is_data(EXTENT_KIND_HOLE));
}

TEST_WITH(test_no_extents, setup, teardown)
{
	start(NULL, 0);
	assert_at(0, 100, EXTENT_KIND_HOLE, 100);
	assert_at(100, 200, EXTENT_KIND_HOLE, 200);
}

TEST_WITH(test_kinds_and_gaps, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		EXTENT(10, 10, 0),
		EXTENT(20, 10, UNWRITTEN),
		EXTENT(30, 10, DELALLOC),
		EXTENT(50, 10, INLINE | LAST),
	};

	start(extents, ARRAY_SIZE(extents));
	assert_at(0, 100, EXTENT_KIND_HOLE, 10);
	assert_at(10, 100, EXTENT_KIND_REGULAR, 20);
	assert_at(20, 100, EXTENT_KIND_PREALLOC, 30);
	assert_at(30, 100, EXTENT_KIND_DELALLOC, 40);
	assert_at(40, 100, EXTENT_KIND_HOLE, 50);
	assert_at(50, 100, EXTENT_KIND_INLINE, 60);
	assert_at(60, 100, EXTENT_KIND_HOLE, 100);
}

/* What lseek told ends where it likes, also in the middle of an extent. */
TEST_WITH(test_ends_within_extents, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		EXTENT(0, 100, 0),
		EXTENT(200, 100, LAST),
	};

	start(extents, ARRAY_SIZE(extents));
	assert_at(0, 30, EXTENT_KIND_REGULAR, 30);
	assert_at(30, 40, EXTENT_KIND_REGULAR, 40);
	assert_at(40, 150, EXTENT_KIND_REGULAR, 100);
	assert_at(100, 150, EXTENT_KIND_HOLE, 150);
	assert_at(150, 250, EXTENT_KIND_HOLE, 200);
	assert_at(200, 250, EXTENT_KIND_REGULAR, 250);
	assert_at(260, 270, EXTENT_KIND_REGULAR, 270);
	assert_at(299, 400, EXTENT_KIND_REGULAR, 300);
	assert_at(350, 400, EXTENT_KIND_HOLE, 400);

	start(extents, ARRAY_SIZE(extents));
	assert_at(0, 100, EXTENT_KIND_REGULAR, 100);
	assert_at(100, 200, EXTENT_KIND_HOLE, 200);
}

TEST_WITH(test_extents_of_a_kind_are_joined, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		EXTENT(0, 10, FIEMAP_EXTENT_ENCODED),
		EXTENT(10, 10, FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_SHARED),
		EXTENT(20, 10, 0),
		/* behind a gap */
		EXTENT(31, 9, 0),
		EXTENT(40, 10, UNWRITTEN | LAST),
	};

	start(extents, ARRAY_SIZE(extents));
	assert_at(0, 100, EXTENT_KIND_REGULAR, 30);
	assert_at(30, 100, EXTENT_KIND_HOLE, 31);
	assert_at(31, 100, EXTENT_KIND_REGULAR, 40);
	assert_at(40, 100, EXTENT_KIND_PREALLOC, 50);

	start(extents, ARRAY_SIZE(extents));
	assert_at(0, 15, EXTENT_KIND_REGULAR, 15);
	assert_at(15, 25, EXTENT_KIND_REGULAR, 25);
}

TEST_WITH(test_extents_that_are_skipped, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		EXTENT(0, 10, 0),
		EXTENT(10, 10, UNWRITTEN),
		EXTENT(20, 10, DELALLOC | LAST),
	};

	start(extents, ARRAY_SIZE(extents));
	assert_at(25, 100, EXTENT_KIND_DELALLOC, 30);
}

TEST_WITH(test_errors, setup, teardown)
{
	static const struct fiemap_extent extents[] = { EXTENT(0, 10, 0) };
	enum extent_kind kind = EXTENT_KIND_PREALLOC;
	uint64_t end = 77;

	expect_fiemap(0, FIEMAP_MAX_OFFSET, 0, FIEMAP_ROOM, NULL, 0, EOPNOTSUPP);
	assert_int_equal(kind_walk_start(&walk, iter, MOCK_FD, WHOLE_FILE), -EOPNOTSUPP);

	/* while it is joined, and while it is passed */
	for (uint64_t offset = 0; offset < 100; offset += 50) {
		start(extents, ARRAY_SIZE(extents));
		expect_fiemap(10, FIEMAP_MAX_OFFSET - 10, 0, FIEMAP_ROOM, NULL, 0, EIO);
		assert_int_equal(kind_walk_at(&walk, offset, 100, &kind, &end), -EIO);
		assert_int_equal(kind, EXTENT_KIND_PREALLOC);
		assert_int_equal(end, 77);
	}
}
