// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "sharing/snapshot-family.h"
#include "test.h"

#define ROOM (64 * 1024)
#define BATCH_ROOM 256
#define LAST_ID ((uint64_t)-256)

/* A subvolume as the root tree has it; UUIDs are one number. */
struct made {
	uint64_t id;
	uint8_t uuid;
	uint8_t parent;
	uint64_t otransid;
	uint32_t refs;
};

/* The origin 256 with three snapshots, one of them with a snapshot of its own, and a stranger. */
static const struct made family[] = {
	{ 5, 0, 0, 0, 1 },    { 256, 1, 0, 7, 1 },  { 257, 2, 1, 10, 1 }, { 258, 3, 1, 20, 1 },
	{ 259, 4, 1, 30, 1 }, { 260, 5, 3, 25, 1 }, { 261, 6, 1, 40, 0 }, { 262, 7, 9, 15, 1 },
};

static struct snapshot_families *families;

static void expect_roots(const struct made *made, size_t count)
{
	struct btrfs_root_item raw[ARRAY_SIZE(family)] = { 0 };
	struct tree_item items[ARRAY_SIZE(family)];
	const struct tree_key last = { LAST_ID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	struct tree_key next = { BTRFS_FS_TREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };

	for (size_t i = 0; i < count; i++) {
		raw[i].refs = htole32(made[i].refs);
		raw[i].bytes_used = htole64(made[i].id * 100);
		raw[i].last_snapshot = htole64(50);
		raw[i].otransid = htole64(made[i].otransid);
		raw[i].uuid[0] = made[i].uuid;
		raw[i].parent_uuid[0] = made[i].parent;
		items[i] = (struct tree_item){ made[i].id, 0, 0, 60, &raw[i], sizeof(raw[i]) };
		items[i].type = BTRFS_ROOT_ITEM_KEY;
	}
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, next, last, UINT32_MAX, ROOM },
		     items, count, 0);
	next = (struct tree_key){ made[count - 1].id, BTRFS_ROOT_ITEM_KEY, 1 };
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, next, last, UINT32_MAX, ROOM },
		     NULL, 0, 0);
}

static int setup(void **state)
{
	if (ioctl_mock_setup(state))
		return -1;
	expect_roots(family, ARRAY_SIZE(family));
	return snapshot_families_read(&families, MOCK_FD);
}

static int teardown(void **state)
{
	snapshot_families_free(families);
	families = NULL;
	return ioctl_mock_teardown(state);
}

static void test_members(void **state)
{
	const struct family_member *member = snapshot_families_find(families, 258);

	(void)state;
	assert_non_null(member);
	assert_int_equal(member->subvolid, 258);
	assert_int_equal(member->tree_bytes, 25800);
	assert_int_equal(member->last_snapshot, 50);
	assert_non_null(snapshot_families_find(families, 5));
	assert_non_null(snapshot_families_find(families, 262));
	assert_null(snapshot_families_find(families, 263));
	/* deleted, and the cleaner has not come to it */
	assert_null(snapshot_families_find(families, 261));
}

static bool is_not(const void *data, uint64_t subvolid)
{
	return subvolid != *(const uint64_t *)data;
}

static void assert_relatives(uint64_t subvolid, uint64_t without, const uint64_t *expected,
			     size_t count)
{
	struct relatives relatives;

	snapshot_families_relatives(families, snapshot_families_find(families, subvolid),
				    without ? is_not : NULL, &without, &relatives);
	assert_int_equal(relatives.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(relatives.members[i]->subvolid, expected[i]);
}

static void test_relatives_are_the_next_ones(void **state)
{
	(void)state;
	/* of the origin, its last snapshot */
	assert_relatives(256, 0, (const uint64_t[]){ 259 }, 1);
	assert_relatives(256, 259, (const uint64_t[]){ 258 }, 1);
	/* of a snapshot its origin, its own snapshot, and those before and after it */
	assert_relatives(258, 0, (const uint64_t[]){ 256, 260, 257, 259 }, 4);
	assert_relatives(257, 0, (const uint64_t[]){ 256, 258 }, 2);
	assert_relatives(257, 258, (const uint64_t[]){ 256, 259 }, 2);
	assert_relatives(259, 0, (const uint64_t[]){ 256, 258 }, 2);
	assert_relatives(260, 0, (const uint64_t[]){ 258 }, 1);
	/* no UUID makes no family */
	assert_relatives(5, 0, NULL, 0);
	assert_relatives(262, 0, NULL, 0);
}

static void expect_leaf(uint64_t tree, const struct tree_item *item, int error)
{
	const struct tree_key key = { 300, 108, 4096 };

	expect_batch(&(struct batch_key){ tree, key, key, 1, BATCH_ROOM }, item, item ? 1 : 0,
		     error);
}

static void test_a_leaf_of_a_relative(void **state)
{
	const struct tree_item same = { 300, 108, 4096, 33, "data", 4 };
	const struct tree_item newer = { 300, 108, 4096, 34, "data", 4 };
	const struct tree_key key = { 300, 108, 4096 };
	struct tree_batch *batch;
	struct relatives two;

	(void)state;
	snapshot_families_relatives(families, snapshot_families_find(families, 257), NULL, NULL,
				    &two);
	assert_int_equal(tree_batch_new(&batch, BATCH_ROOM), 0);
	expect_leaf(256, &newer, 0);
	expect_leaf(258, &same, 0);
	assert_int_equal(relatives_share_leaf(&two, batch, MOCK_FD, key, 33), 1);
	expect_leaf(256, &same, 0);
	assert_int_equal(relatives_share_leaf(&two, batch, MOCK_FD, key, 33), 1);
	/* without the item, or deleted in the meantime */
	expect_leaf(256, NULL, 0);
	expect_leaf(258, NULL, ENOENT);
	assert_int_equal(relatives_share_leaf(&two, batch, MOCK_FD, key, 33), 0);
	expect_leaf(256, NULL, EPERM);
	assert_int_equal(relatives_share_leaf(&two, batch, MOCK_FD, key, 33), -EPERM);
	tree_batch_free(batch);
}

static void test_an_item_that_is_too_short(void **state)
{
	const struct tree_key first = { BTRFS_FS_TREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key last = { LAST_ID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	const struct tree_item item = { 256, BTRFS_ROOT_ITEM_KEY, 0, 60, "short", 5 };
	struct snapshot_families *none = NULL;

	(void)state;
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, first, last, UINT32_MAX, ROOM },
		     &item, 1, 0);
	assert_int_equal(snapshot_families_read(&none, MOCK_FD), -EPROTO);
	assert_null(none);
}

#define FAMILY_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAMILY_TEST(test_members),
		FAMILY_TEST(test_relatives_are_the_next_ones),
		FAMILY_TEST(test_a_leaf_of_a_relative),
		MOCKED_TEST(test_an_item_that_is_too_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
