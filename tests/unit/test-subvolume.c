// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "subvolume.h"
#include "test.h"

#define SUBVOLID 300
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
static void test_last_snapshot(void **state)
{
	static const uint32_t sizes[] = { NEEDED, sizeof(struct btrfs_root_item) };
	const struct btrfs_root_item root = { .last_snapshot = htole64(42) };

	(void)state;
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

static void test_last_snapshot_of_a_missing_subvolume(void **state)
{
	uint64_t transaction = 99;

	(void)state;
	expect_tree_search(&whole_key, NULL, 0, 0);
	assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction), -ENOENT);
	assert_int_equal(transaction, 99);
}

static void test_last_snapshot_errors(void **state)
{
	static const int errors[] = { EPERM, ENOTTY, EIO };
	const struct btrfs_root_item root = { .last_snapshot = htole64(42) };
	const struct tree_item truncated = item_of(&root, 0, NEEDED - 1);
	uint64_t transaction = 99;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_tree_search(&whole_key, NULL, 0, errors[i]);
		assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction),
				 -errors[i]);
	}
	expect_tree_search(&whole_key, &truncated, 1, 0);
	assert_int_equal(subvolume_last_snapshot(MOCK_FD, SUBVOLID, &transaction), -EPROTO);
	assert_int_equal(transaction, 99);
}

static void expect_fs_info(int error)
{
	struct btrfs_ioctl_fs_info_args answer = { 0 };

	memcpy(answer.fsid, "0123456789abcdef", FSID_SIZE);
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO,
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

static void test_filesystem_id(void **state)
{
	uint8_t fsid[FSID_SIZE] = { 0 };

	(void)state;
	expect_fs_info(0);
	assert_int_equal(filesystem_id_of(MOCK_FD, fsid), 0);
	assert_memory_equal(fsid, "0123456789abcdef", FSID_SIZE);
}

static void test_filesystem_id_of_something_else(void **state)
{
	const uint8_t zero[FSID_SIZE] = { 0 };
	uint8_t fsid[FSID_SIZE] = { 0 };

	(void)state;
	expect_fs_info(ENOTTY);
	assert_int_equal(filesystem_id_of(MOCK_FD, fsid), -ENOTTY);
	assert_memory_equal(fsid, zero, FSID_SIZE);
}

static void expect_transaction(unsigned long request, uint64_t asked, uint64_t answer, int error)
{
	ioctl_mock_expect(&(struct ioctl_call){
		.request = request,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

/* It waits for the very commit that it started. */
static void test_commit(void **state)
{
	(void)state;
	expect_transaction(BTRFS_IOC_START_SYNC, 0, 77, 0);
	expect_transaction(BTRFS_IOC_WAIT_SYNC, 77, 77, 0);
	assert_int_equal(filesystem_commit(MOCK_FD), 0);
}

static void test_commit_errors(void **state)
{
	(void)state;
	expect_transaction(BTRFS_IOC_START_SYNC, 0, 0, ENOTTY);
	assert_int_equal(filesystem_commit(MOCK_FD), -ENOTTY);
	expect_transaction(BTRFS_IOC_START_SYNC, 0, 77, 0);
	expect_transaction(BTRFS_IOC_WAIT_SYNC, 77, 0, EIO);
	assert_int_equal(filesystem_commit(MOCK_FD), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOCKED_TEST(test_last_snapshot),
		MOCKED_TEST(test_last_snapshot_of_a_missing_subvolume),
		MOCKED_TEST(test_last_snapshot_errors),
		MOCKED_TEST(test_filesystem_id),
		MOCKED_TEST(test_filesystem_id_of_something_else),
		MOCKED_TEST(test_commit),
		MOCKED_TEST(test_commit_errors),
	};

	return cmocka_run_group_tests_name("subvolume", tests, NULL, NULL);
}
