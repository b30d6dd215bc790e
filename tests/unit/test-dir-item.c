// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/dir-item.h"
#include "kernel-answers.h"
#include "test.h"

#define ROOM 4096

/* the hash of "log", as btrfs inspect-internal dump-tree prints it */
#define LOG_HASH 0x689df79b

static char item[1024];
static size_t item_size;
static struct tree_batch *batch;

static int setup(void **state)
{
	item_size = 0;
	if (ioctl_mock_setup(state))
		return -1;
	return tree_batch_new(&batch, ROOM);
}

static int teardown(void **state)
{
	tree_batch_free(batch);
	return ioctl_mock_teardown(state);
}

static void add_entry(const char *name, uint8_t key_type, uint64_t inode, uint16_t data_length)
{
	const struct btrfs_dir_item entry = {
		.location = { .objectid = htole64(inode), .type = key_type },
		.name_len = htole16(strlen(name)),
		.data_len = htole16(data_length),
	};

	memcpy(item + item_size, &entry, sizeof(entry));
	memcpy(item + item_size + sizeof(entry), name, strlen(name));
	item_size += sizeof(entry) + strlen(name) + data_length;
}

static int find(const char *name, uint64_t *ret_inode)
{
	return dir_item_find(item, item_size, name, strlen(name), ret_inode);
}

TEST_WITH(test_entries, setup, teardown)
{
	uint64_t inode = 99;

	assert_int_equal(find("one", &inode), 0);
	add_entry("one", BTRFS_INODE_ITEM_KEY, 257, 0);
	add_entry("more", BTRFS_INODE_ITEM_KEY, 258, 7);
	add_entry("nested", BTRFS_ROOT_ITEM_KEY, 256, 0);
	add_entry("last", BTRFS_INODE_ITEM_KEY, UINT64_C(1) << 40, 0);
	assert_int_equal(find("on", &inode), 0);
	assert_int_equal(find("nested", &inode), 0);
	assert_int_equal(inode, 99);
	assert_int_equal(find("more", &inode), 1);
	assert_int_equal(inode, 258);
	assert_int_equal(find("last", &inode), 1);
	assert_int_equal(inode, UINT64_C(1) << 40);
}

TEST_WITH(test_broken, setup, teardown)
{
	uint64_t inode = 99;

	add_entry("one", BTRFS_INODE_ITEM_KEY, 257, 0);
	for (size_t size = 1; size < item_size; size++)
		assert_int_equal(dir_item_find(item, size, "one", 3, &inode), -EPROTO);
	add_entry("two", BTRFS_INODE_ITEM_KEY, 257, UINT16_MAX);
	item_size = sizeof(item);
	assert_int_equal(find("three", &inode), -EPROTO);
	assert_int_equal(inode, 99);
}

static struct batch_key key_of_log(void)
{
	const struct tree_key key = { 256, BTRFS_DIR_ITEM_KEY, LOG_HASH };

	return (struct batch_key){ 300, key, key, 1, ROOM };
}

static int lookup(uint64_t *ret_inode)
{
	return dir_item_lookup(batch, MOCK_FD, 300, 256, "log", 3, ret_inode);
}

TEST_WITH(test_lookup, setup, teardown)
{
	const struct batch_key key = key_of_log();
	struct tree_item answer = { 256, BTRFS_DIR_ITEM_KEY, LOG_HASH, 9, item, 0 };
	uint64_t inode = 99;

	add_entry("log", BTRFS_INODE_ITEM_KEY, 257, 0);
	answer.size = item_size;
	expect_batch(&key, NULL, 0, 0);
	assert_int_equal(lookup(&inode), 0);
	expect_batch(&key, NULL, 0, EPERM);
	assert_int_equal(lookup(&inode), -EPERM);
	answer.size = ROOM;
	expect_oversize_batch(&key, &answer);
	assert_int_equal(lookup(&inode), -EPROTO);
	assert_int_equal(inode, 99);
	answer.size = item_size;
	expect_batch(&key, &answer, 1, 0);
	assert_int_equal(lookup(&inode), 1);
	assert_int_equal(inode, 257);
}
