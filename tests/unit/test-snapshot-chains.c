// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "sharing/snapshot-chains.h"
#include "test.h"

#define ROOM (16 * 1024)
#define ITEMS 200
#define FIRST_ID 300
#define GENERATION 10

/* Eight snapshots, made in transactions 20, 21, …, each with the leaves of the one before it. */
#define SNAPSHOT_COUNT 8
#define MADE 20

static const struct tree_key key = { 257, BTRFS_EXTENT_DATA_KEY, 4096 };

static struct snapshot_chains *chains;

static void add(uint64_t subvolid, uint32_t argument, uint64_t shared_before, size_t base)
{
	const struct chained_subvolume subvolume = { MOCK_FD, subvolid, argument, shared_before,
						     base };

	assert_int_equal(snapshot_chains_add(chains, &subvolume), 0);
}

static int setup(void **state)
{
	if (ioctl_mock_setup(state) || snapshot_chains_new(&chains))
		return -1;
	add(FIRST_ID, 0, 0, 0);
	for (size_t i = 1; i < SNAPSHOT_COUNT; i++)
		add(FIRST_ID + i, i, MADE + i - 1, i - 1);
	return 0;
}

static int teardown(void **state)
{
	snapshot_chains_free(chains);
	return ioctl_mock_teardown(state);
}

static struct tree_item item_of(uint64_t inode, uint64_t generation)
{
	return (struct tree_item){ inode, key.type, key.offset, generation, "", 0 };
}

/* MOST items of subvolume SUBVOLID from KEY on are asked for, and there are COUNT. */
static void expect_items(uint64_t subvolid, struct tree_key from, uint32_t most,
			 const struct tree_item *items, uint32_t count)
{
	const struct tree_key end = { UINT64_MAX, UINT8_MAX, UINT64_MAX };

	expect_batch(&(struct batch_key){ subvolid, from, end, most, ROOM }, items, count, 0);
}

/* Subvolume SUBVOLID has the item in a leaf of GENERATION; 0: it does not have it. */
static void expect_leaf(uint64_t subvolid, uint64_t generation)
{
	const struct tree_item item = item_of(key.objectid, generation);

	expect_items(subvolid, key, 1, &item, generation ? 1 : 0);
}

static void assert_holders_of(size_t number, struct tree_key item, uint64_t generation,
			      uint32_t first, uint32_t last)
{
	struct holders holders = NO_HOLDERS;

	assert_int_equal(snapshot_chains_find(chains, number, item, generation, &holders), 0);
	assert_int_equal(holders.first, first);
	assert_int_equal(holders.last, last);
}

static void assert_holders(size_t number, uint64_t generation, uint32_t first, uint32_t last)
{
	assert_holders_of(number, key, generation, first, last);
}

TEST_WITH(test_a_leaf_that_the_last_one_has, setup, teardown)
{
	expect_leaf(FIRST_ID + 7, GENERATION);
	assert_holders(2, GENERATION, 2, 7);
}

TEST_WITH(test_a_leaf_that_went, setup, teardown)
{
	expect_leaf(FIRST_ID + 7, 25);
	expect_leaf(FIRST_ID + 1, GENERATION);
	expect_leaf(FIRST_ID + 4, GENERATION);
	expect_leaf(FIRST_ID + 5, 0);
	assert_holders(0, GENERATION, 0, 4);
	/* an earlier key is searched again */
	expect_leaf(FIRST_ID + 4, GENERATION);
	expect_leaf(FIRST_ID + 5, 0);
	assert_holders(0, GENERATION, 0, 4);
}

static struct tree_key key_of(uint64_t inode)
{
	return (struct tree_key){ inode, key.type, key.offset };
}

TEST_WITH(test_the_next_items_of_a_leaf, setup, teardown)
{
	const struct tree_item items[] = { item_of(258, GENERATION), item_of(260, GENERATION),
					   item_of(261, 25) };

	expect_leaf(FIRST_ID + 7, GENERATION);
	assert_holders_of(2, key, GENERATION, 2, 7);
	expect_items(FIRST_ID + 7, key_of(258), ITEMS, items, 3);
	assert_holders_of(2, key_of(258), GENERATION, 2, 7);
	assert_holders_of(2, key_of(260), GENERATION, 2, 7);
	/* it is in a newer leaf, so the last one does not have this one */
	expect_items(FIRST_ID + 4, key_of(261), 1, items, 0);
	expect_items(FIRST_ID + 3, key_of(261), 1, items, 0);
	assert_holders_of(2, key_of(261), GENERATION, 2, 2);
	/* an earlier key is searched anew */
	expect_items(FIRST_ID + 7, key_of(259), 1, &items[1], 1);
	expect_items(FIRST_ID + 3, key_of(259), 1, &items[1], 1);
	assert_holders_of(2, key_of(259), GENERATION, 2, 2);
}

/* Written in the transaction of the snapshot, it may have been written again after that. */
TEST_WITH(test_a_leaf_as_old_as_the_snapshot, setup, teardown)
{
	assert_holders(2, MADE + 2, 2, 2);
}

/* A branch of the third, and one that goes on from it */
static void add_branch(void)
{
	add(400, 20, 30, 2);
	add(401, 21, 31, 8);
}

TEST_WITH(test_a_branch, setup, teardown)
{
	add_branch();
	/* of the sixth */
	add(500, 30, 30, 5);

	expect_leaf(FIRST_ID + 7, 0);
	expect_leaf(FIRST_ID + 4, 0);
	expect_leaf(FIRST_ID + 2, GENERATION);
	expect_leaf(FIRST_ID + 3, 0);
	expect_leaf(400, GENERATION);
	expect_leaf(401, GENERATION);
	assert_holders(1, GENERATION, 1, 21);

	expect_leaf(FIRST_ID + 7, GENERATION);
	expect_leaf(500, 40);
	assert_holders(3, GENERATION, 3, 7);
}

/* The search before is not taken for this one. */
TEST_WITH(test_branches_are_searched_anew, setup, teardown)
{
	add_branch();
	add(402, 22, 31, 8);
	expect_leaf(FIRST_ID + 7, GENERATION);
	expect_leaf(400, GENERATION);
	expect_leaf(401, GENERATION);
	expect_leaf(402, GENERATION);
	assert_holders(2, GENERATION, 2, 22);

	expect_leaf(FIRST_ID + 7, GENERATION);
	expect_leaf(400, 40);
	assert_holders(2, GENERATION, 2, 7);
}

/* A chain would end too early at one that has less in common with it. */
TEST_WITH(test_one_that_has_less_in_common, setup, teardown)
{
	add(600, 40, 15, 7);
	expect_leaf(FIRST_ID + 7, 16);
	assert_holders(0, 16, 0, 7);
}

TEST_WITH(test_one_that_was_deleted, setup, teardown)
{
	struct holders holders = NO_HOLDERS;

	expect_batch(
		&(struct batch_key){
			FIRST_ID + 7, key, { UINT64_MAX, UINT8_MAX, UINT64_MAX }, 1, ROOM },
		NULL, 0, ENOENT);
	assert_int_equal(snapshot_chains_find(chains, 0, key, GENERATION, &holders), -ENOENT);
}
