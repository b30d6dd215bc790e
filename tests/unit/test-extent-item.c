// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/extent-item.h"
#include "kernel-answers.h"
#include "test.h"

/* that of the items is 7 */
#define LEAF_GENERATION 7

#define ROOM (16 * 1024)
#define OWNER_REF_KEY 172

/* An item's bytes as they are on disk, put together piece by piece. */
struct bytes {
	char data[256];
	size_t size;
};

static void add(struct bytes *bytes, const void *piece, size_t size)
{
	memcpy(bytes->data + bytes->size, piece, size);
	bytes->size += size;
}

static struct bytes item_with(uint64_t refs, uint64_t flags)
{
	const struct btrfs_extent_item item = {
		.refs = htole64(refs),
		.generation = htole64(7),
		.flags = htole64(flags),
	};
	struct bytes bytes = { .size = 0 };

	add(&bytes, &item, sizeof(item));
	return bytes;
}

static void add_data_ref(struct bytes *bytes, uint64_t root, uint64_t inode, uint64_t offset,
			 uint32_t count)
{
	const uint8_t type = BTRFS_EXTENT_DATA_REF_KEY;
	const struct btrfs_extent_data_ref ref = {
		.root = htole64(root),
		.objectid = htole64(inode),
		.offset = htole64(offset),
		.count = htole32(count),
	};

	add(bytes, &type, sizeof(type));
	add(bytes, &ref, sizeof(ref));
}

/* A type of reference that has one number, and that is followed by COUNT if it is not 0. */
static void add_number_ref(struct bytes *bytes, uint8_t type, uint64_t number, uint32_t count)
{
	number = htole64(number);
	count = htole32(count);
	add(bytes, &type, sizeof(type));
	add(bytes, &number, sizeof(number));
	if (count)
		add(bytes, &count, sizeof(count));
}

static const struct extent_ref own = { .inode = 257, .offset = KIB(64), .root = 5 };

static bool is_ours(const struct bytes *bytes)
{
	struct extent_item item;

	assert_int_equal(extent_item_parse(bytes->data, bytes->size, &item), 0);
	return extent_item_belongs_to(&item, &own);
}

TEST(test_sole_reference)
{
	struct bytes bytes = item_with(3, BTRFS_EXTENT_FLAG_DATA);
	struct extent_item item;

	add_data_ref(&bytes, 5, 257, KIB(64), 3);
	assert_int_equal(extent_item_parse(bytes.data, bytes.size, &item), 0);
	assert_int_equal(item.ref_count, 3);
	assert_int_equal(item.generation, 7);
	assert_true(item.has_sole_ref);
	assert_int_equal(item.sole_ref_count, 3);
	assert_true(extent_item_belongs_to(&item, &own));
}

/* Each part of the reference counts. */
TEST(test_sole_reference_of_another)
{
	static const struct {
		uint64_t root;
		uint64_t inode;
		uint64_t offset;
		uint32_t count;
	} cases[] = {
		{ 6, 257, KIB(64), 1 },
		{ 5, 258, KIB(64), 1 },
		{ 5, 257, KIB(60), 1 },
		/* one more is elsewhere */
		{ 5, 257, KIB(64), 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes bytes = item_with(i == 3 ? 3 : 1, BTRFS_EXTENT_FLAG_DATA);

		add_data_ref(&bytes, cases[i].root, cases[i].inode, cases[i].offset,
			     cases[i].count);
		assert_false(is_ours(&bytes));
	}
}

/* The start of the extent may lie before that of the file. */
TEST(test_negative_offset)
{
	struct bytes bytes = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	const struct extent_ref ref = { .inode = 257, .offset = -KIB(8), .root = 5 };
	struct extent_item item;

	add_data_ref(&bytes, 5, 257, -KIB(8), 1);
	assert_int_equal(extent_item_parse(bytes.data, bytes.size, &item), 0);
	assert_true(extent_item_belongs_to(&item, &ref));
}

/* The kernel looks no further than at one inline reference to data. */
TEST(test_other_items_count_as_shared)
{
	struct bytes none = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	struct bytes two = item_with(2, BTRFS_EXTENT_FLAG_DATA);
	struct bytes by_block = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	struct bytes cut = item_with(1, BTRFS_EXTENT_FLAG_DATA);

	add_data_ref(&two, 5, 257, KIB(64), 1);
	add_data_ref(&two, 5, 258, KIB(64), 1);
	add_number_ref(&by_block, BTRFS_SHARED_DATA_REF_KEY, MIB(30), 1);
	add_data_ref(&cut, 5, 257, KIB(64), 1);
	cut.size--;
	assert_false(is_ours(&none));
	assert_false(is_ours(&two));
	assert_false(is_ours(&by_block));
	assert_false(is_ours(&cut));
}

/* With simple quotas the item begins with who pays. */
TEST(test_owner_of_simple_quotas)
{
	struct bytes ours = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	struct bytes alone = item_with(1, BTRFS_EXTENT_FLAG_DATA);

	add_number_ref(&ours, OWNER_REF_KEY, 300, 0);
	add_number_ref(&alone, OWNER_REF_KEY, 300, 0);
	assert_false(is_ours(&alone));
	add_data_ref(&ours, 5, 257, KIB(64), 1);
	assert_true(is_ours(&ours));
	add_data_ref(&ours, 5, 258, KIB(64), 1);
	assert_false(is_ours(&ours));
}

TEST(test_no_item_of_data)
{
	struct bytes block = item_with(1, BTRFS_EXTENT_FLAG_TREE_BLOCK);
	struct extent_item item = { .ref_count = 99 };

	add_data_ref(&block, 5, 257, KIB(64), 1);
	assert_int_equal(extent_item_parse(block.data, block.size, &item), -EPROTO);
	block = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	for (size_t size = 0; size < sizeof(struct btrfs_extent_item); size++)
		assert_int_equal(extent_item_parse(block.data, size, &item), -EPROTO);
	assert_int_equal(item.ref_count, 99);
}

static void assert_next_ref(const struct extent_item *item, size_t *position, uint64_t root,
			    uint64_t inode, uint64_t offset)
{
	struct extent_ref ref;

	assert_int_equal(extent_item_next_ref(item, position, &ref), 1);
	assert_int_equal(ref.root, root);
	assert_int_equal(ref.inode, inode);
	assert_int_equal(ref.offset, offset);
}

/* Those by a tree block name no file; what is unknown or cut ends the list. */
TEST(test_inline_references)
{
	struct bytes bytes = item_with(6, BTRFS_EXTENT_FLAG_DATA);
	struct extent_ref ref = { .inode = 99 };
	struct extent_item item;
	size_t position = 0;

	add_number_ref(&bytes, OWNER_REF_KEY, 300, 0);
	add_data_ref(&bytes, 5, 257, KIB(64), 1);
	add_number_ref(&bytes, BTRFS_SHARED_DATA_REF_KEY, MIB(30), 1);
	add_data_ref(&bytes, 6, 258, 0, 2);
	add_number_ref(&bytes, BTRFS_SHARED_DATA_REF_KEY, MIB(31), 1);
	assert_int_equal(extent_item_parse(bytes.data, bytes.size, &item), 0);
	assert_next_ref(&item, &position, 5, 257, KIB(64));
	assert_next_ref(&item, &position, 6, 258, 0);
	assert_int_equal(extent_item_next_ref(&item, &position, &ref), 0);
	assert_int_equal(extent_item_next_ref(&item, &position, &ref), 0);

	for (size_t cut = 1; cut < 13; cut++) {
		position = 0;
		assert_int_equal(extent_item_parse(bytes.data, bytes.size - cut, &item), 0);
		assert_next_ref(&item, &position, 5, 257, KIB(64));
		assert_next_ref(&item, &position, 6, 258, 0);
		assert_int_equal(extent_item_next_ref(&item, &position, &ref), 0);
	}
	add_number_ref(&bytes, 199, 7, 0);
	add_data_ref(&bytes, 7, 259, 0, 1);
	position = 0;
	assert_int_equal(extent_item_parse(bytes.data, bytes.size, &item), 0);
	assert_next_ref(&item, &position, 5, 257, KIB(64));
	assert_next_ref(&item, &position, 6, 258, 0);
	assert_int_equal(extent_item_next_ref(&item, &position, &ref), 0);
	assert_int_equal(ref.inode, 99);
}

/* -- looking up -- */

static struct extent_lookup *lookup;

static int setup(void **state)
{
	if (ioctl_mock_setup(state) || extent_lookup_new(&lookup))
		return -1;
	extent_lookup_start(lookup, MOCK_FD);
	return 0;
}

static int teardown(void **state)
{
	extent_lookup_free(lookup);
	return ioctl_mock_teardown(state);
}

/* Items of extents at so many MiB, with as many references as that. */
static void expect_lookup(uint64_t mib, uint32_t most, const uint64_t *found, uint32_t count)
{
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ MIB(mib), BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		most,
		ROOM,
	};
	struct tree_item items[8];
	struct bytes bytes[8];

	assert_true(count <= ARRAY_SIZE(items));
	for (uint32_t i = 0; i < count; i++) {
		bytes[i] = item_with(found[i], BTRFS_EXTENT_FLAG_DATA);
		items[i] = (struct tree_item){
			.objectid = MIB(found[i]),
			.type = BTRFS_EXTENT_ITEM_KEY,
			.offset = MIB(1),
			.leaf_generation = LEAF_GENERATION,
			.data = bytes[i].data,
			.size = bytes[i].size,
		};
	}
	expect_batch(&key, items, count, 0);
}

static void assert_found(uint64_t mib)
{
	struct extent_item item;

	assert_int_equal(extent_lookup_find(lookup, MIB(mib), &item), 1);
	assert_int_equal(item.ref_count, mib);
}

static void assert_missing(uint64_t mib)
{
	struct extent_item item = { .ref_count = 99 };

	assert_int_equal(extent_lookup_find(lookup, MIB(mib), &item), 0);
	assert_int_equal(item.ref_count, 99);
}

/* Neighbours come together, and more of them each time. */
TEST_WITH(test_neighbours, setup, teardown)
{
	static const uint64_t found[] = { 1, 2, 3, 4, 6, 8, 9 };

	expect_lookup(1, 1, found, 1);
	expect_lookup(2, 2, found + 1, 2);
	expect_lookup(4, 4, found + 3, 4);
	for (uint64_t mib = 1; mib <= 4; mib++)
		assert_found(mib);
	/* between two items that are known */
	assert_missing(5);
	assert_found(6);
	assert_found(6);
	assert_missing(7);
	assert_found(9);
}

/* There is no way back in an answer, so what was stepped over is asked for again. */
TEST_WITH(test_what_was_stepped_over, setup, teardown)
{
	static const uint64_t found[] = { 1, 2, 3 };

	expect_lookup(1, 1, found, 3);
	expect_lookup(2, 1, found + 1, 1);
	assert_found(1);
	assert_found(3);
	assert_found(2);
}

/* What was passed is asked for again, and nothing that lies far away comes with it. */
TEST_WITH(test_backwards_and_far, setup, teardown)
{
	static const uint64_t found[] = { 1, 2, 3, 1000 };

	expect_lookup(2, 1, found + 1, 1);
	expect_lookup(3, 2, found + 2, 2);
	expect_lookup(1, 1, found, 1);
	expect_lookup(1000, 1, found + 3, 1);
	assert_found(2);
	assert_found(3);
	assert_found(1);
	assert_found(1000);
}

TEST_WITH(test_an_item_newer_than_its_leaf, setup, teardown)
{
	struct bytes bytes = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	const struct tree_item item = { MIB(1),	   BTRFS_EXTENT_ITEM_KEY, MIB(1), 6, bytes.data,
					bytes.size };
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ MIB(1), BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		1,
		ROOM,
	};
	struct extent_item found;

	expect_batch(&key, &item, 1, 0);
	assert_int_equal(extent_lookup_find(lookup, MIB(1), &found), -EPROTO);
}

/* Other items of the same and of other extents lie between. */
TEST_WITH(test_other_items, setup, teardown)
{
	struct bytes bytes = item_with(1, BTRFS_EXTENT_FLAG_DATA);
	const struct tree_item items[] = {
		{ MIB(1), BTRFS_EXTENT_ITEM_KEY, MIB(1), LEAF_GENERATION, bytes.data, bytes.size },
		{ MIB(1), BTRFS_EXTENT_DATA_REF_KEY, 77, 0, "", 0 },
		{ MIB(2), BTRFS_BLOCK_GROUP_ITEM_KEY, MIB(8), 0, "", 0 },
		{ MIB(3), BTRFS_EXTENT_ITEM_KEY, MIB(1), LEAF_GENERATION, bytes.data, bytes.size },
	};
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ MIB(1), BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		1,
		ROOM,
	};
	struct extent_item item;

	expect_batch(&key, items, ARRAY_SIZE(items), 0);
	assert_int_equal(extent_lookup_find(lookup, MIB(1), &item), 1);
	assert_missing(2);
	assert_int_equal(extent_lookup_find(lookup, MIB(3), &item), 1);
}

TEST_WITH(test_start_forgets, setup, teardown)
{
	static const uint64_t found[] = { 1, 2 };

	expect_lookup(1, 1, found, 2);
	expect_lookup(2, 1, found + 1, 1);
	assert_found(1);
	extent_lookup_start(lookup, MOCK_FD);
	assert_found(2);
}

TEST_WITH(test_lookup_errors, setup, teardown)
{
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ MIB(1), BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		1,
		ROOM,
	};
	const struct tree_item cut = { MIB(1), BTRFS_EXTENT_ITEM_KEY, MIB(1), 0, "cut", 3 };
	const struct tree_item large = { MIB(1), BTRFS_EXTENT_ITEM_KEY, MIB(1), 0, NULL, 2 * ROOM };
	struct extent_item item = { .ref_count = 99 };

	expect_batch(&key, NULL, 0, EPERM);
	assert_int_equal(extent_lookup_find(lookup, MIB(1), &item), -EPERM);
	expect_batch(&key, &cut, 1, 0);
	assert_int_equal(extent_lookup_find(lookup, MIB(1), &item), -EPROTO);
	extent_lookup_start(lookup, MOCK_FD);
	expect_oversize_batch(&key, &large);
	assert_int_equal(extent_lookup_find(lookup, MIB(1), &item), -EPROTO);
	assert_int_equal(item.ref_count, 99);
}
