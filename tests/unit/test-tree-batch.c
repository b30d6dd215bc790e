// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>

#include "fs/tree-batch.h"
#include "kernel-answers.h"
#include "test.h"

#define TREE 2
#define ROOM 256
#define MOST 10

static const struct batch_key asked = {
	TREE, { 100, 168, 0 }, { 200, 255, UINT64_MAX }, MOST, ROOM,
};

static struct tree_batch *batch;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || tree_batch_new(&batch, ROOM);
}

static int teardown(void **state)
{
	tree_batch_free(batch);
	return ioctl_mock_teardown(state);
}

static struct tree_item item_at(uint64_t objectid, uint32_t type, uint64_t offset)
{
	return (struct tree_item){ objectid, type, offset, 7, "data", 4 };
}

static int fetch(void)
{
	return tree_batch_fetch(batch, MOCK_FD, TREE, asked.min, asked.max, MOST);
}

static void assert_next(const struct tree_item *expected)
{
	struct tree_item item;

	assert_int_equal(tree_batch_next(batch, &item), 1);
	assert_int_equal(item.objectid, expected->objectid);
	assert_int_equal(item.type, expected->type);
	assert_int_equal(item.offset, expected->offset);
	assert_int_equal(item.leaf_generation, expected->leaf_generation);
	assert_int_equal(item.size, expected->size);
	assert_memory_equal(item.data, expected->data, expected->size);
}

/* Nothing more comes, and the result is not touched. */
static void assert_ends_with(int ret)
{
	struct tree_item item = { .objectid = 99 };

	assert_int_equal(tree_batch_next(batch, &item), ret);
	assert_int_equal(item.objectid, 99);
	assert_int_equal(tree_batch_next(batch, &item), 0);
}

TEST(test_compare)
{
	static const struct tree_key keys[] = {
		{ 1, 1, 9 },
		{ 1, 2, 0 },
		{ 1, 2, UINT64_MAX },
		{ UINT64_MAX, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			int order = tree_key_compare(&keys[i], &keys[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

TEST_WITH(test_empty, setup, teardown)
{
	assert_ends_with(0);
	expect_batch(&asked, NULL, 0, 0);
	assert_int_equal(fetch(), 0);
	assert_ends_with(0);
}

/* Items of several objectids and types, in the order of their keys. */
TEST_WITH(test_items, setup, teardown)
{
	const struct tree_item items[] = {
		item_at(100, 168, 0),
		item_at(100, 168, 1),
		item_at(100, 178, 0),
		item_at(200, 255, UINT64_MAX),
	};

	expect_batch(&asked, items, ARRAY_SIZE(items), 0);
	assert_int_equal(fetch(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		assert_next(&items[i]);
	assert_ends_with(0);
}

/* What is left of an answer is gone with the next one. */
TEST_WITH(test_fetch_again, setup, teardown)
{
	const struct tree_item first[] = { item_at(100, 168, 0), item_at(101, 168, 0) };
	const struct tree_item second[] = { item_at(150, 168, 0) };

	expect_batch(&asked, first, 2, 0);
	expect_batch(&asked, second, 1, 0);
	assert_int_equal(fetch(), 0);
	assert_next(&first[0]);
	assert_int_equal(fetch(), 0);
	assert_next(&second[0]);
	assert_ends_with(0);
}

/* The kernel tells the size of an item that does not fit. */
TEST_WITH(test_oversize_item, setup, teardown)
{
	struct tree_item large = item_at(128, 168, 0);
	struct tree_item item;

	large.size = 16000;
	expect_oversize_batch(&asked, &large);
	assert_int_equal(fetch(), 0);
	assert_int_equal(tree_batch_next(batch, &item), 1);
	assert_int_equal(item.objectid, 128);
	assert_int_equal(item.size, 16000);
	assert_null(item.data);
	assert_ends_with(0);
}

TEST_WITH(test_errors, setup, teardown)
{
	static const int errors[] = { EPERM, ENOTTY, ENOENT, EIO };
	const struct tree_item items[] = { item_at(100, 168, 0), item_at(101, 168, 0) };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_batch(&asked, items, 2, 0);
		expect_batch(&asked, NULL, 0, errors[i]);
		assert_int_equal(fetch(), 0);
		assert_int_equal(fetch(), -errors[i]);
		/* not even what came before */
		assert_ends_with(0);
	}
	/* too large, and yet it would have fitted */
	expect_batch(&asked, NULL, 0, EOVERFLOW);
	assert_int_equal(fetch(), -EPROTO);
	assert_ends_with(0);
}

static void assert_broken(const struct tree_item *items, uint32_t count, uint32_t good)
{
	expect_batch(&asked, items, count, 0);
	assert_int_equal(fetch(), 0);
	for (uint32_t i = 0; i < good; i++)
		assert_next(&items[i]);
	assert_ends_with(-EPROTO);
}

/* Keys that were not asked for, come twice, or go back. */
TEST_WITH(test_broken_order, setup, teardown)
{
	const struct tree_item before[] = { item_at(100, 167, 9) };
	const struct tree_item behind[] = { item_at(201, 0, 0) };
	const struct tree_item twice[] = { item_at(100, 168, 5), item_at(100, 168, 5) };
	const struct tree_item back[] = { item_at(120, 168, 5), item_at(110, 200, 5) };

	assert_broken(before, 1, 0);
	assert_broken(behind, 1, 0);
	assert_broken(twice, 2, 1);
	assert_broken(back, 2, 1);
}

/* More items than there are. */
TEST_WITH(test_broken_count, setup, teardown)
{
	struct {
		struct btrfs_ioctl_search_args_v2 arguments;
		char buffer[ROOM];
	} answer = { .arguments.key.nr_items = 9 };

	const struct btrfs_ioctl_search_header *headers = (void *)answer.buffer;
	struct tree_item item;

	for (size_t i = 0; i < ROOM / sizeof(*headers); i++)
		memcpy(answer.buffer + i * sizeof(*headers),
		       &(struct btrfs_ioctl_search_header){ .objectid = 100 + i, .type = 168 },
		       sizeof(*headers));
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_TREE_SEARCH_V2,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
	assert_int_equal(fetch(), 0);
	for (size_t i = 0; i < ROOM / sizeof(*headers); i++)
		assert_int_equal(tree_batch_next(batch, &item), 1);
	assert_ends_with(-EPROTO);
}
