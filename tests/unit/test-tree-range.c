// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "fs/tree-range.h"
#include "kernel-answers.h"
#include "test.h"

#define TREE 256
#define ROOM (64 * 1024)

static const struct tree_key first = { 257, 1, 0 };
static const struct tree_key last = { 257, 255, UINT64_MAX };

static struct tree_range *range;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || tree_range_new(&range);
}

static int teardown(void **state)
{
	tree_range_free(range);
	return ioctl_mock_teardown(state);
}

static struct tree_item item_at(uint64_t objectid, uint32_t type, uint64_t offset)
{
	return (struct tree_item){ objectid, type, offset, 7, "data", 4 };
}

/* A call for all from MIN on, answered with one item, or with none for a NULL. */
static void expect_from(struct tree_key min, const struct tree_item *item)
{
	const struct batch_key key = { TREE, min, last, UINT32_MAX, ROOM };

	expect_batch(&key, item, item ? 1 : 0, 0);
}

static void assert_next(uint32_t type, uint64_t offset)
{
	struct tree_item item;

	assert_int_equal(tree_range_next(range, &item), 1);
	assert_int_equal(item.objectid, 257);
	assert_int_equal(item.type, type);
	assert_int_equal(item.offset, offset);
}

static void assert_ends_with(int ret)
{
	struct tree_item item;

	assert_int_equal(tree_range_next(range, &item), ret);
	assert_int_equal(tree_range_next(range, &item), 0);
}

TEST_WITH(test_goes_on_after_the_last_item, setup, teardown)
{
	const struct tree_item a = item_at(257, 1, 0), b = item_at(257, 108, 4096);

	expect_from(first, &a);
	expect_from((struct tree_key){ 257, 1, 1 }, &b);
	expect_from((struct tree_key){ 257, 108, 4097 }, NULL);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_next(1, 0);
	assert_next(108, 4096);
	assert_ends_with(0);
}

TEST_WITH(test_the_next_key_can_be_of_the_next_type, setup, teardown)
{
	const struct tree_item a = item_at(257, 96, UINT64_MAX);

	expect_from(first, &a);
	expect_from((struct tree_key){ 257, 97, 0 }, NULL);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_next(96, UINT64_MAX);
	assert_ends_with(0);
}

TEST_WITH(test_ends_at_the_last_key, setup, teardown)
{
	const struct tree_item a = item_at(257, 255, UINT64_MAX);

	expect_from(first, &a);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_next(255, UINT64_MAX);
	assert_ends_with(0);
}

TEST_WITH(test_the_next_key_can_be_of_the_next_object, setup, teardown)
{
	const struct tree_key all = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	const struct tree_item a = item_at(257, 255, UINT64_MAX);
	const struct batch_key asked = { TREE, first, all, UINT32_MAX, ROOM };
	const struct batch_key then = { TREE, { 258, 0, 0 }, all, UINT32_MAX, ROOM };

	expect_batch(&asked, &a, 1, 0);
	expect_batch(&then, NULL, 0, 0);
	tree_range_start(range, MOCK_FD, TREE, first, all);
	assert_next(255, UINT64_MAX);
	assert_ends_with(0);
}

TEST_WITH(test_an_item_that_comes_again_is_no_progress, setup, teardown)
{
	const struct tree_item a = item_at(257, 1, 0);

	expect_from(first, &a);
	expect_from((struct tree_key){ 257, 1, 1 }, &a);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_next(1, 0);
	assert_ends_with(-EPROTO);
}

TEST_WITH(test_an_item_that_does_not_fit, setup, teardown)
{
	struct tree_item large = item_at(257, 1, 0);
	const struct batch_key key = { TREE, first, last, UINT32_MAX, ROOM };

	large.size = 100 * 1024;
	expect_oversize_batch(&key, &large);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_ends_with(-EPROTO);
}

TEST_WITH(test_errors_end_it_and_a_start_begins_again, setup, teardown)
{
	const struct batch_key key = { TREE, first, last, UINT32_MAX, ROOM };
	const struct tree_item two[] = { item_at(257, 1, 0), item_at(257, 12, 256) };

	assert_ends_with(0);
	expect_batch(&key, NULL, 0, EPERM);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_ends_with(-EPERM);
	expect_batch(&key, two, 2, 0);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_next(1, 0);
	/* what is left of the answer is dropped */
	expect_batch(&key, two, 1, 0);
	tree_range_start(range, MOCK_FD, TREE, first, last);
	assert_next(1, 0);
}
