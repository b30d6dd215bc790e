// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "sharing/snapshot-family.h"
#include "test.h"

#define ROOM (64 * 1024)
#define LAST_ID ((uint64_t)-256)

/* A subvolume as the root tree has it. */
struct made {
	uint64_t id;
	uint32_t refs;
};

static const struct made family[] = {
	{ 5, 1 }, { 256, 1 }, { 258, 1 }, { 261, 0 }, { 262, 1 },
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
		raw[i].last_snapshot = htole64(50);
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

TEST_WITH(test_members, setup, teardown)
{
	const struct family_member *member = snapshot_families_find(families, 258);

	assert_non_null(member);
	assert_int_equal(member->subvolid, 258);
	assert_int_equal(member->last_snapshot, 50);
	assert_non_null(snapshot_families_find(families, 5));
	assert_non_null(snapshot_families_find(families, 262));
	assert_null(snapshot_families_find(families, 263));
	/* deleted, and the cleaner has not come to it */
	assert_null(snapshot_families_find(families, 261));
}

TEST_WITH(test_an_item_that_is_too_short, ioctl_mock_setup, ioctl_mock_teardown)
{
	const struct tree_key first = { BTRFS_FS_TREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	const struct tree_key last = { LAST_ID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	const struct tree_item item = { 256, BTRFS_ROOT_ITEM_KEY, 0, 60, "short", 5 };
	struct snapshot_families *none = NULL;

	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, first, last, UINT32_MAX, ROOM },
		     &item, 1, 0);
	assert_int_equal(snapshot_families_read(&none, MOCK_FD), -EPROTO);
	assert_null(none);
}

/* A subvolume "o", snapshots of it, and a snapshot of one of these. */
struct relative {
	uint64_t id;
	char uuid;
	char parent_uuid;
	uint64_t otransid;
	uint64_t generation;
	/* the subvolume that has its name, if the test needs that */
	uint64_t named_in;
};

static const struct relative relatives[] = {
	{ 300, 'o', 0, 10, 90, 0 },   { 301, 'a', 'o', 20, 20, 0 }, { 302, 'b', 'o', 30, 31, 0 },
	{ 303, 'c', 'o', 40, 40, 0 }, { 304, 'd', 'o', 40, 40, 0 }, { 305, 'e', 'c', 50, 60, 0 },
	{ 306, 'x', 0, 15, 15, 0 },
};

static void expect_relatives_of(const struct relative made_relatives[ARRAY_SIZE(relatives)])
{
	const struct tree_key last = { LAST_ID, BTRFS_ROOT_ITEM_KEY, UINT64_MAX };
	struct tree_key next = { BTRFS_FS_TREE_OBJECTID, BTRFS_ROOT_ITEM_KEY, 0 };
	struct btrfs_root_item raw[ARRAY_SIZE(relatives)] = { 0 };
	struct tree_item items[2 * ARRAY_SIZE(relatives)];
	const struct tree_item *end;
	uint32_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(relatives); i++) {
		const struct relative *made = &made_relatives[i];

		raw[i].refs = htole32(1);
		raw[i].generation = htole64(made->generation);
		/* x was written by an old kernel */
		raw[i].generation_v2 = htole64(made->generation - (made->uuid == 'x'));
		raw[i].otransid = htole64(made->otransid);
		raw[i].uuid[0] = made->uuid;
		raw[i].parent_uuid[0] = made->uuid == 'x' ? 'o' : made->parent_uuid;
		items[count++] = (struct tree_item){
			made->id, BTRFS_ROOT_ITEM_KEY, 0, 90, &raw[i], sizeof(raw[i]),
		};
		if (made->named_in)
			items[count++] = (struct tree_item){
				made->id, BTRFS_ROOT_BACKREF_KEY, made->named_in, 90, "", 0,
			};
	}
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, next, last, UINT32_MAX, ROOM },
		     items, count, 0);
	end = &items[count - 1];
	next = (struct tree_key){ end->objectid, end->type, end->offset + 1 };
	expect_batch(&(struct batch_key){ BTRFS_ROOT_TREE_OBJECTID, next, last, UINT32_MAX, ROOM },
		     NULL, 0, 0);
}

static bool is_in(const void *data, uint64_t subvolid)
{
	for (const uint64_t *id = data; *id; id++)
		if (*id == subvolid)
			return true;
	return false;
}

#define SHARED_BEFORE(id, ...)                                                                 \
	snapshot_families_shared_before(families, snapshot_families_find(families, id), is_in, \
					(const uint64_t[]){ __VA_ARGS__, 0 }, &other)

TEST_WITH(test_what_is_shared_with_others, ioctl_mock_setup, teardown)
{
	const struct family_member *other = NULL;

	expect_relatives_of(relatives);
	assert_int_equal(snapshot_families_read(&families, MOCK_FD), 0);
	/* the origin: with its last snapshot, but not with one that was changed */
	assert_int_equal(SHARED_BEFORE(300, 300), 40);
	assert_int_equal(SHARED_BEFORE(300, 300, 303, 304), 20);
	assert_int_equal(other->subvolid, 301);
	assert_int_equal(SHARED_BEFORE(300, 300, 301, 303, 304), 0);
	/* a snapshot: with an earlier one, and not with a later one */
	assert_int_equal(SHARED_BEFORE(301, 301), 0);
	assert_int_equal(SHARED_BEFORE(302, 302), 20);
	/* not with one of the same transaction */
	assert_int_equal(SHARED_BEFORE(304, 304), 20);
	/* with its origin, which was not changed since */
	assert_int_equal(SHARED_BEFORE(305, 305), 50);
	assert_int_equal(SHARED_BEFORE(305, 305, 303), 0);
	/* not with one that was */
	assert_int_equal(SHARED_BEFORE(303, 303, 304), 20);
	assert_int_equal(SHARED_BEFORE(306, 306), 0);
}

/* The origin has them, and what changed for that is not in them, or in one of them only. */
TEST_WITH(test_names_that_are_newer_than_the_snapshot, ioctl_mock_setup, teardown)
{
	static const struct relative named[] = {
		{ 300, 'o', 0, 10, 40, 0 },	{ 301, 'a', 'o', 20, 20, 300 },
		{ 302, 'b', 'o', 40, 40, 0 },	{ 303, 'c', 0, 40, 40, 300 },
		{ 304, 'p', 0, 10, 50, 5 },	{ 305, 'd', 'p', 50, 50, 5 },
		{ 306, 'e', 'd', 60, 60, 305 },
	};
	const struct family_member *other = NULL;

	expect_relatives_of(named);
	assert_int_equal(snapshot_families_read(&families, MOCK_FD), 0);
	assert_int_equal(SHARED_BEFORE(302, 302), 20);
	assert_int_equal(other->subvolid, 301);
	assert_int_equal(SHARED_BEFORE(300, 300), 40);
	assert_int_equal(SHARED_BEFORE(305, 305, 306), 50);
	assert_int_equal(SHARED_BEFORE(306, 306), 0);
}

static void assert_forks(uint64_t id, const uint64_t *transids, uint64_t unknown_before)
{
	struct snapshot_forks forks;

	assert_int_equal(snapshot_families_find_forks(families,
						      snapshot_families_find(families, id), &forks),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(relatives); i++)
		if (relatives[i].id != id)
			assert_int_equal(forks.transids[i], transids[i]);
	assert_int_equal(forks.unknown_before, unknown_before);
	free(forks.transids);
}

TEST_WITH(test_forks, ioctl_mock_setup, teardown)
{
	expect_relatives_of(relatives);
	assert_int_equal(snapshot_families_read(&families, MOCK_FD), 0);
	assert_forks(300, (const uint64_t[]){ 0, 20, 30, 40, 40, 40, 0 }, 0);
	assert_forks(301, (const uint64_t[]){ 20, 0, 20, 20, 20, 20, 0 }, 0);
	/* a snapshot of a snapshot */
	assert_forks(305, (const uint64_t[]){ 40, 20, 30, 50, 40, 0, 0 }, 0);
	assert_forks(306, (const uint64_t[]){ 0, 0, 0, 0, 0, 0, 0 }, 0);
}

/* Of two that were deleted; and a loop, which no kernel makes. */
TEST_WITH(test_forks_of_those_whose_origin_was_deleted, ioctl_mock_setup, teardown)
{
	static const struct relative orphans[] = {
		{ 300, 'a', 'g', 20, 20, 0 }, { 301, 'b', 'g', 30, 30, 0 },
		{ 302, 'c', 'b', 40, 40, 0 }, { 303, 'd', 'h', 25, 25, 0 },
		{ 304, 'l', 'm', 50, 50, 0 }, { 305, 'm', 'l', 60, 60, 0 },
		{ 306, 'n', 'n', 70, 70, 0 },
	};

	expect_relatives_of(orphans);
	assert_int_equal(snapshot_families_read(&families, MOCK_FD), 0);
	assert_forks(300, (const uint64_t[]){ 0, 20, 20, 0, 0, 0, 0 }, 20);
	assert_forks(302, (const uint64_t[]){ 20, 40, 0, 0, 0, 0, 0 }, 30);
	assert_forks(303, (const uint64_t[]){ 0, 0, 0, 0, 0, 0, 0 }, 25);
	assert_forks(305, (const uint64_t[]){ 0, 0, 0, 0, 60, 0, 0 }, 0);
	assert_forks(306, (const uint64_t[]){ 0, 0, 0, 0, 0, 0, 0 }, 0);
}
