// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "kernel-answers.h"
#include "num/saturating.h"
#include "sharing/sharing.h"
#include "test.h"

#define LAST FIEMAP_EXTENT_LAST
#define SHARED FIEMAP_EXTENT_SHARED
#define INLINE (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED)
#define DELALLOC (FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN)

static void assert_sharing(const struct sharing *sharing, const struct sharing *expected)
{
	assert_int_equal(sharing->extent_count, expected->extent_count);
	assert_int_equal(sharing->shared_count, expected->shared_count);
	assert_int_equal(sharing->total_bytes, expected->total_bytes);
	assert_int_equal(sharing->shared_bytes, expected->shared_bytes);
	assert_int_equal(sharing->inline_bytes, expected->inline_bytes);
	assert_int_equal(sharing->delalloc_bytes, expected->delalloc_bytes);
	assert_int_equal(sharing->has_fragments, expected->has_fragments);
	assert_int_equal(sharing->piece_count, expected->piece_count);
	assert_int_equal(sharing->waste_bytes, expected->waste_bytes);
	assert_int_equal(sharing->copy_bytes, expected->copy_bytes);
}

/* Each kind of extent on its own: what it adds to. */
TEST(test_add_extent)
{
	static const struct {
		uint32_t flags;
		struct sharing expected;
	} cases[] = {
		{ 0, { 1, 0, 10, 0, 0, 0, false, 0, 0, 0 } },
		{ SHARED, { 1, 1, 10, 10, 0, 0, false, 0, 0, 0 } },
		{ LAST, { 1, 0, 10, 0, 0, 0, false, 0, 0, 0 } },
		{ FIEMAP_EXTENT_UNWRITTEN, { 1, 0, 10, 0, 0, 0, false, 0, 0, 0 } },
		{ FIEMAP_EXTENT_UNWRITTEN | SHARED, { 1, 1, 10, 10, 0, 0, false, 0, 0, 0 } },
		{ FIEMAP_EXTENT_ENCODED | SHARED, { 1, 1, 10, 10, 0, 0, false, 0, 0, 0 } },
		{ INLINE, { 1, 0, 0, 0, 10, 0, false, 0, 0, 0 } },
		{ INLINE | SHARED, { 1, 1, 0, 0, 10, 0, false, 0, 0, 0 } },
		{ INLINE | FIEMAP_EXTENT_ENCODED, { 1, 0, 0, 0, 10, 0, false, 0, 0, 0 } },
		{ DELALLOC, { 1, 0, 0, 0, 0, 10, false, 0, 0, 0 } },
		{ DELALLOC | SHARED, { 1, 1, 0, 0, 0, 10, false, 0, 0, 0 } },
		{ FIEMAP_EXTENT_UNKNOWN, { 1, 0, 0, 0, 0, 10, false, 0, 0, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct mapped_extent extent = { 0, 100, 10, cases[i].flags };
		struct sharing sharing = { 0 };

		sharing_add_extent(&sharing, &extent);
		assert_sharing(&sharing, &cases[i].expected);
	}
}

TEST(test_add)
{
	struct sharing sum = { 1, 2, 30, 4, 5, 6, false, 0, 0, 0 };
	const struct sharing other = { 10, 20, 300, 40, 50, 60, true, 70, 80, 70 };
	const struct sharing expected = { 11, 22, 330, 44, 55, 66, true, 70, 80, 70 };

	sharing_add(&sum, &other);
	assert_sharing(&sum, &expected);
	assert_int_equal(sharing_exclusive_bytes(&sum), 330 - 44);
}

TEST(test_sums_stop_at_the_largest_number)
{
	const struct mapped_extent extents[] = {
		{ 0, 1, UINT64_MAX, SHARED },
		{ 0, 0, UINT64_MAX, INLINE },
		{ 0, 0, UINT64_MAX, DELALLOC },
	};
	const struct sharing expected = { 6,	      2,     UINT64_MAX, UINT64_MAX, UINT64_MAX,
					  UINT64_MAX, false, 0,		 0,	     0 };
	struct sharing sharing = { 0 };
	struct sharing doubled;

	for (size_t i = 0; i < 6; i++)
		sharing_add_extent(&sharing, &extents[i / 2]);
	assert_sharing(&sharing, &expected);
	assert_int_equal(sharing_exclusive_bytes(&sharing), 0);

	doubled = sharing;
	sharing_add(&doubled, &sharing);
	assert_int_equal(doubled.total_bytes, UINT64_MAX);
	assert_int_equal(doubled.shared_bytes, UINT64_MAX);
	assert_int_equal(doubled.inline_bytes, UINT64_MAX);
	assert_int_equal(doubled.delalloc_bytes, UINT64_MAX);
}

TEST(test_saturating_add)
{
	assert_int_equal(saturating_add(1, 2), 3);
	assert_int_equal(saturating_add(UINT64_MAX - 1, 1), UINT64_MAX);
	assert_int_equal(saturating_add(UINT64_MAX, 1), UINT64_MAX);
	assert_int_equal(saturating_add(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static struct fiemap_iter *iter;
static struct unique_shared_bytes *set;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || fiemap_iter_new(&iter) || unique_shared_bytes_new(&set);
}

static int teardown(void **state)
{
	fiemap_iter_free(iter);
	unique_shared_bytes_free(set);
	return ioctl_mock_teardown(state);
}

/* Two places in the file share the same bytes, which count once in the set. */
static const struct fiemap_extent file[] = {
	{ .fe_logical = 0, .fe_physical = MIB(1), .fe_length = KIB(16), .fe_flags = SHARED },
	{ .fe_logical = KIB(16), .fe_physical = MIB(2), .fe_length = KIB(16) },
	{ .fe_logical = KIB(64), .fe_physical = MIB(1), .fe_length = KIB(8), .fe_flags = SHARED },
	/* no address, so it cannot be in the set even if it were marked */
	{ .fe_logical = KIB(72), .fe_length = KIB(4), .fe_flags = DELALLOC | SHARED | LAST },
};

static void assert_set_bytes(uint64_t expected)
{
	uint64_t bytes = 0;

	assert_int_equal(unique_shared_bytes_total(set, &bytes), 0);
	assert_int_equal(bytes, expected);
}

TEST_WITH(test_file, setup, teardown)
{
	const struct sharing expected = { 4, 3, KIB(40), KIB(24), 0, KIB(4), false, 0, 0, 0 };
	struct sharing sharing;

	expect_fiemap(0, UINT64_MAX, FIEMAP_FLAG_SYNC, FIEMAP_ROOM, file, 4, 0);
	assert_int_equal(sharing_of_file(iter, MOCK_FD, WHOLE_FILE, FIEMAP_FLAG_SYNC, set,
					 &sharing),
			 0);
	assert_sharing(&sharing, &expected);
	assert_set_bytes(KIB(16));
}

/* What reaches beyond the range does not count, neither in the sums nor in the set. */
TEST_WITH(test_range, setup, teardown)
{
	const struct byte_range range = { KIB(12), KIB(54) };
	const struct sharing expected = { 3, 2, KIB(4) + KIB(16) + KIB(2), KIB(6), 0, 0, false, 0,
					  0, 0 };
	struct sharing sharing;

	expect_fiemap(range.offset, range.length, 0, FIEMAP_ROOM, file, 4, 0);
	assert_int_equal(sharing_of_file(iter, MOCK_FD, range, 0, set, &sharing), 0);
	assert_sharing(&sharing, &expected);
	/* the end of the first extent, and the start of the same bytes */
	assert_set_bytes(KIB(4) + KIB(2));
}

TEST_WITH(test_file_without_a_set, setup, teardown)
{
	struct sharing sharing;

	expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, file, 4, 0);
	assert_int_equal(sharing_of_file(iter, MOCK_FD, WHOLE_FILE, 0, NULL, &sharing), 0);
	assert_int_equal(sharing.shared_bytes, KIB(24));
	assert_set_bytes(0);
}

TEST_WITH(test_file_errors, setup, teardown)
{
	static const struct fiemap_extent nowhere[] = {
		{ .fe_logical = 0,
		  .fe_physical = UINT64_MAX - KIB(4) + 1,
		  .fe_length = KIB(4),
		  .fe_flags = SHARED | LAST },
	};
	struct sharing sharing = { .extent_count = 99 };

	expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, NULL, 0, EOPNOTSUPP);
	assert_int_equal(sharing_of_file(iter, MOCK_FD, WHOLE_FILE, 0, set, &sharing), -EOPNOTSUPP);
	expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, file, 1, 0);
	expect_fiemap(KIB(16), UINT64_MAX - KIB(16), 0, FIEMAP_ROOM, NULL, 0, EIO);
	assert_int_equal(sharing_of_file(iter, MOCK_FD, WHOLE_FILE, 0, set, &sharing), -EIO);
	expect_fiemap(0, UINT64_MAX, 0, FIEMAP_ROOM, nowhere, 1, 0);
	assert_int_equal(sharing_of_file(iter, MOCK_FD, WHOLE_FILE, 0, set, &sharing), -EPROTO);
	assert_int_equal(sharing.extent_count, 99);
}

TEST(test_decision)
{
	static const struct {
		uint64_t generation, leaf_generation, last_snapshot;
		enum share_decision decision;
	} cases[] = {
		/* no snapshot was ever taken */
		{ 10, 10, 0, SHARE_DECISION_GENERATION },
		/* written after, in, before the transaction of the snapshot */
		{ 21, 21, 20, SHARE_DECISION_GENERATION },
		{ 20, 20, 20, SHARE_DECISION_LEAF },
		{ 10, 15, 20, SHARE_DECISION_LEAF },
		{ 10, 21, 20, SHARE_DECISION_WALK },
		{ 20, 21, 20, SHARE_DECISION_WALK },
		{ 1, UINT64_MAX, UINT64_MAX, SHARE_DECISION_LEAF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct file_extent extent = {
			.generation = cases[i].generation,
			.leaf_generation = cases[i].leaf_generation,
		};

		assert_int_equal(share_decision_of(&extent, cases[i].last_snapshot),
				 cases[i].decision);
	}
}
