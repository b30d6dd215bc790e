// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/subvolume.h"
#include "kernel-answers.h"
#include "test.h"

#define SUBVOLID 300
#define LEAF_GENERATION 60
/* The least that an item must hold. */
#define NEEDED (offsetof(struct btrfs_root_item, last_snapshot) + sizeof(uint64_t))

static const struct search_key whole_key = {
	BTRFS_ROOT_TREE_OBJECTID, SUBVOLID, BTRFS_ROOT_ITEM_KEY, 0, UINT64_MAX,
};

static struct tree_item item_of(const struct btrfs_root_item *root, uint64_t offset, uint32_t size)
{
	return (struct tree_item){
		.objectid = SUBVOLID,
		.type = BTRFS_ROOT_ITEM_KEY,
		.offset = offset,
		.leaf_generation = LEAF_GENERATION,
		.data = root,
		.size = size,
	};
}

static void expect_end_after(uint64_t offset)
{
	struct search_key key = whole_key;

	key.min_offset = offset + 1;
	expect_tree_search(&key, NULL, 0, 0);
}

/* Items of old file systems are shorter than today's. */
TEST_WITH(test_last_snapshot, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const uint32_t sizes[] = { NEEDED, sizeof(struct btrfs_root_item) };
	const struct btrfs_root_item root = { .last_snapshot = htole64(42) };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* a snapshot's key has the transaction that made it */
		const struct tree_item item = item_of(&root, 17, sizes[i]);
		uint64_t transaction = 0;

		expect_tree_search(&whole_key, &item, 1, 0);
		expect_end_after(17);
		assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction), 0);
		assert_int_equal(transaction, 42);
	}
}

TEST_WITH(test_last_snapshot_after_the_leaf, ioctl_mock_setup, ioctl_mock_teardown)
{
	const struct btrfs_root_item root = { .last_snapshot = htole64(LEAF_GENERATION + 1) };
	const struct tree_item item = item_of(&root, 17, sizeof(root));
	uint64_t transaction = 99;

	expect_tree_search(&whole_key, &item, 1, 0);
	assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction), -EPROTO);
	assert_int_equal(transaction, 99);
}

TEST_WITH(test_last_snapshot_of_a_missing_subvolume, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint64_t transaction = 99;

	expect_tree_search(&whole_key, NULL, 0, 0);
	assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction), -ENOENT);
	assert_int_equal(transaction, 99);
}

TEST_WITH(test_last_snapshot_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const int errors[] = { EPERM, ENOTTY, EIO };
	const struct btrfs_root_item root = { .last_snapshot = htole64(42) };
	const struct tree_item truncated = item_of(&root, 0, NEEDED - 1);
	uint64_t transaction = 99;

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_tree_search(&whole_key, NULL, 0, errors[i]);
		assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction),
				 -errors[i]);
	}
	expect_tree_search(&whole_key, &truncated, 1, 0);
	assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction), -EPROTO);
	assert_int_equal(transaction, 99);
}

/* -- subvolume_root_of() and what stands on it -- */

static struct btrfs_root_item root_with(char uuid, char parent_uuid)
{
	struct btrfs_root_item root = {
		.generation = htole64(50),
		.generation_v2 = htole64(50),
		.ctransid = htole64(49),
		.bytes_used = htole64(MIB(3)),
		.flags = htole64(BTRFS_ROOT_SUBVOL_RDONLY),
	};

	if (uuid)
		memset(root.uuid, uuid, SUBVOLUME_UUID_SIZE);
	if (parent_uuid)
		memset(root.parent_uuid, parent_uuid, SUBVOLUME_UUID_SIZE);
	return root;
}

static void expect_root(uint64_t subvolid, const struct btrfs_root_item *root, uint32_t size)
{
	struct search_key key = whole_key;
	struct tree_item item = item_of(root, 17, size);

	key.objectid = item.objectid = subvolid;
	expect_tree_search(&key, root ? &item : NULL, root ? 1 : 0, 0);
	if (!root || size < NEEDED)
		return;
	key.min_offset = 18;
	expect_tree_search(&key, NULL, 0, 0);
}

TEST_WITH(test_root, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_root_item item = root_with('a', 'b');
	struct subvolume_root root;

	expect_root(SUBVOLID, &item, sizeof(item));
	assert_int_equal(subvolume_root_of(MOCK_FD, SUBVOLID, &root), 0);
	assert_memory_equal(root.uuid, "aaaaaaaaaaaaaaaa", SUBVOLUME_UUID_SIZE);
	assert_memory_equal(root.parent_uuid, "bbbbbbbbbbbbbbbb", SUBVOLUME_UUID_SIZE);
	assert_int_equal(root.ctransid, 49);
	assert_int_equal(root.tree_bytes, MIB(3));
	assert_true(root.read_only);
}

/* What a kernel wrote that did not know all of it. */
TEST_WITH(test_old_root, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_root_item item = root_with('a', 'b');
	struct subvolume_root root;

	item.flags = 0;
	item.generation = htole64(51);
	expect_root(SUBVOLID, &item, sizeof(item));
	assert_int_equal(subvolume_root_of(MOCK_FD, SUBVOLID, &root), 0);
	assert_int_equal(root.uuid[0], 0);
	assert_int_equal(root.parent_uuid[0], 0);
	assert_int_equal(root.tree_bytes, MIB(3));
	assert_false(root.read_only);
}

TEST_WITH(test_root_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_root_item item = root_with('a', 'b');
	struct subvolume_root root = { .tree_bytes = 99 };

	expect_tree_search(&whole_key, NULL, 0, EPERM);
	assert_int_equal(subvolume_root_of(MOCK_FD, SUBVOLID, &root), -EPERM);
	expect_root(SUBVOLID, NULL, 0);
	assert_int_equal(subvolume_root_of(MOCK_FD, SUBVOLID, &root), -ENOENT);
	expect_root(SUBVOLID, &item, 100);
	assert_int_equal(subvolume_root_of(MOCK_FD, SUBVOLID, &root), -EPROTO);
	assert_int_equal(root.tree_bytes, 99);
}

/* SUBVOLID 0: there is none. */
static void expect_uuid(char uuid, uint64_t subvolid, uint32_t size)
{
	uint64_t half, answer = htole64(subvolid);
	struct tree_item item = { .type = BTRFS_UUID_KEY_SUBVOL, .data = &answer, .size = size };
	struct search_key key = { .tree = BTRFS_UUID_TREE_OBJECTID, .type = BTRFS_UUID_KEY_SUBVOL };

	memset(&half, uuid, sizeof(half));
	key.objectid = key.min_offset = key.max_offset = half;
	item.objectid = item.offset = half;
	expect_tree_search(&key, subvolid ? &item : NULL, subvolid ? 1 : 0, 0);
}

TEST_WITH(test_find_uuid, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint64_t subvolid = 99;

	expect_uuid('b', 0, 8);
	assert_int_equal(subvolume_find_uuid(MOCK_FD, (const uint8_t *)"bbbbbbbbbbbbbbbb",
					     &subvolid),
			 -ENOENT);
	expect_uuid('b', 301, 7);
	assert_int_equal(subvolume_find_uuid(MOCK_FD, (const uint8_t *)"bbbbbbbbbbbbbbbb",
					     &subvolid),
			 -EPROTO);
	assert_int_equal(subvolid, 99);
	expect_uuid('b', 301, 8);
	assert_int_equal(subvolume_find_uuid(MOCK_FD, (const uint8_t *)"bbbbbbbbbbbbbbbb",
					     &subvolid),
			 0);
	assert_int_equal(subvolid, 301);
}

/* Two snapshots of a subvolume that was deleted. */
TEST_WITH(test_siblings, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_root_item one = root_with('1', 'x'), other = root_with('2', 'x');

	expect_root(301, &one, sizeof(one));
	expect_uuid('x', 0, 8);
	expect_root(302, &other, sizeof(other));
	expect_uuid('x', 0, 8);
	assert_int_equal(subvolumes_are_related(MOCK_FD, 301, 302), 1);
}

/* A snapshot of a snapshot, asked for the other way round. */
TEST_WITH(test_ancestor, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_root_item first = root_with('1', 0), second = root_with('2', '1');
	struct btrfs_root_item third = root_with('3', '2');

	expect_root(301, &first, sizeof(first));
	expect_root(303, &third, sizeof(third));
	expect_uuid('2', 302, 8);
	expect_root(302, &second, sizeof(second));
	expect_uuid('1', 301, 8);
	expect_root(301, &first, sizeof(first));
	assert_int_equal(subvolumes_are_related(MOCK_FD, 301, 303), 1);
}

TEST_WITH(test_strangers, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_root_item one = root_with('1', 0), other = root_with('2', 0);

	expect_root(301, &one, sizeof(one));
	expect_root(302, &other, sizeof(other));
	assert_int_equal(subvolumes_are_related(MOCK_FD, 301, 302), 0);
	/* no UUID at all is not the same one */
	one = other = root_with(0, 0);
	expect_root(301, &one, sizeof(one));
	expect_root(302, &other, sizeof(other));
	assert_int_equal(subvolumes_are_related(MOCK_FD, 301, 302), 0);
	expect_root(301, NULL, 0);
	assert_int_equal(subvolumes_are_related(MOCK_FD, 301, 302), -ENOENT);
}

/* -- the path -- */

/* ROOT_BACKREF of SUBVOLID: NAME in DIRECTORY of PARENT; SIZE is the item's, 0 for all of it. */
static void expect_backref(uint64_t subvolid, uint64_t parent, uint64_t directory, const char *name,
			   size_t length, uint32_t size)
{
	const struct search_key key = { BTRFS_ROOT_TREE_OBJECTID, subvolid, BTRFS_ROOT_BACKREF_KEY,
					0, UINT64_MAX };
	struct {
		struct btrfs_root_ref ref;
		char name[300];
	} __attribute__((packed))
	raw = { .ref = { .dirid = htole64(directory), .name_len = htole16(length) } };
	const struct tree_item item = {
		.objectid = subvolid,
		.type = BTRFS_ROOT_BACKREF_KEY,
		.offset = parent,
		.data = &raw,
		.size = size ? size : sizeof(raw.ref) + length,
	};

	memcpy(raw.name, name, length);
	expect_tree_search(&key, &item, 1, 0);
}

static void expect_directory(uint64_t parent, uint64_t directory, const char *path)
{
	struct btrfs_ioctl_ino_lookup_args request = { .treeid = parent, .objectid = directory };
	struct btrfs_ioctl_ino_lookup_args answer = request;

	strcpy(answer.name, path);
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_INO_LOOKUP,
		.expected = &request,
		.expected_size = offsetof(struct btrfs_ioctl_ino_lookup_args, name),
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

TEST_WITH(test_path, ioctl_mock_setup, ioctl_mock_teardown)
{
	char *path = NULL;

	expect_backref(300, 299, 256, "inner", 5, 0);
	expect_directory(299, 256, "");
	expect_backref(299, 5, 258, "outer", 5, 0);
	expect_directory(5, 258, "a/b/");
	assert_int_equal(subvolume_path(MOCK_FD, 300, &path), 0);
	assert_string_equal(path, "a/b/outer/inner");
	free(path);
	assert_int_equal(subvolume_path(MOCK_FD, BTRFS_FS_TREE_OBJECTID, &path), 0);
	assert_string_equal(path, "/");
	free(path);
}

TEST_WITH(test_path_of_a_loop, ioctl_mock_setup, ioctl_mock_teardown)
{
	char *path = NULL;

	expect_backref(300, 299, 256, "a", 1, 0);
	expect_directory(299, 256, "");
	expect_backref(299, 298, 256, "b", 1, 0);
	expect_directory(298, 256, "");
	expect_backref(298, 299, 256, "c", 1, 0);
	expect_directory(299, 256, "");
	assert_int_equal(subvolume_path(MOCK_FD, 300, &path), -ELOOP);
	expect_backref(300, 300, 256, "a", 1, 0);
	expect_directory(300, 256, "");
	assert_int_equal(subvolume_path(MOCK_FD, 300, &path), -ELOOP);
	assert_null(path);
}

TEST_WITH(test_path_that_is_too_deep, ioctl_mock_setup, ioctl_mock_teardown)
{
	char *path = NULL;

	for (uint64_t i = 0; i < 256; i++) {
		expect_backref(1000 + i, 1001 + i, 256, "a", 1, 0);
		expect_directory(1001 + i, 256, "");
	}
	assert_int_equal(subvolume_path(MOCK_FD, 1000, &path), -ENAMETOOLONG);
	assert_null(path);
}

TEST_WITH(test_path_with_a_damaged_name, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const struct {
		const char *name;
		size_t length;
		uint32_t size;
	} damaged[] = {
		{ "", 0, 0 },	   { ".", 1, 0 },
		{ "..", 2, 0 },	   { "a/b", 3, 0 },
		{ "a\0b", 3, 0 },  { "long", 4, sizeof(struct btrfs_root_ref) + 3 },
		{ "short", 5, 4 },
	};
	char *path = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		expect_backref(300, 5, 256, damaged[i].name, damaged[i].length, damaged[i].size);
		assert_int_equal(subvolume_path(MOCK_FD, 300, &path), -EPROTO);
	}
	assert_null(path);
}

TEST_WITH(test_path_of_a_deleted_subvolume, ioctl_mock_setup, ioctl_mock_teardown)
{
	const struct search_key key = { BTRFS_ROOT_TREE_OBJECTID, 300, BTRFS_ROOT_BACKREF_KEY, 0,
					UINT64_MAX };
	char *path = NULL;

	expect_tree_search(&key, NULL, 0, 0);
	assert_int_equal(subvolume_path(MOCK_FD, 300, &path), -ENOENT);
	expect_tree_search(&key, NULL, 0, EPERM);
	assert_int_equal(subvolume_path(MOCK_FD, 300, &path), -EPERM);
	assert_null(path);
}
