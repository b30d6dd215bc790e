// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "send/send-extents.h"
#include "send/send-inodes.h"
#include "test.h"

static struct send_extents *extents;

/* The inodes of the files, 0: there is no such file. */
static const struct {
	const char *path;
	uint64_t inode;
} files[] = { { "a", 257 }, { "b", 258 }, { "gone", 0 } };

int __wrap_send_inodes_find(struct send_inodes *inodes, const char *path, uint64_t *ret_inode);

int __wrap_send_inodes_find(struct send_inodes *inodes, const char *path, uint64_t *ret_inode)
{
	(void)inodes;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].path, path) != 0)
			continue;
		if (files[i].inode)
			*ret_inode = files[i].inode;
		return files[i].inode != 0;
	}
	return -EIO;
}

/* Of all files. */
static uint64_t file_size;

int __wrap_send_inodes_size(struct send_inodes *inodes, uint64_t inode, uint64_t *ret_size);

int __wrap_send_inodes_size(struct send_inodes *inodes, uint64_t inode, uint64_t *ret_size)
{
	(void)inodes;
	(void)inode;
	*ret_size = file_size;
	return 1;
}

static int setup(void **state)
{
	file_size = MIB(1);
	if (ioctl_mock_setup(state))
		return -1;
	return send_extents_new(&extents, MOCK_FD, 0, true);
}

static int setup_incremental(void **state)
{
	if (ioctl_mock_setup(state))
		return -1;
	return send_extents_new(&extents, MOCK_FD, 256, false);
}

static int teardown(void **state)
{
	send_extents_free(extents);
	return ioctl_mock_teardown(state);
}

/* Compressed extents of 128 KiB from OFFSET on. */
static void expect_extents(uint64_t inode, uint64_t offset, uint32_t count)
{
	struct btrfs_file_extent_item raw = {
		.ram_bytes = htole64(KIB(128)),
		.compression = 1,
		.type = BTRFS_FILE_EXTENT_REG,
		.disk_bytenr = htole64(MIB(5)),
		.disk_num_bytes = htole64(KIB(8)),
		.num_bytes = htole64(KIB(128)),
	};
	const struct search_key key = { 0, inode, BTRFS_EXTENT_DATA_KEY, 0, UINT64_MAX };
	struct tree_item items[4];

	assert_true(count <= ARRAY_SIZE(items));
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct tree_item){
			.objectid = inode,
			.type = BTRFS_EXTENT_DATA_KEY,
			.offset = offset + i * KIB(128),
			.data = &raw,
			.size = sizeof(raw),
		};
	expect_tree_search(&key, items, count, 0);
}

static void expect_no_more(uint64_t inode, uint64_t last)
{
	const struct search_key key = { 0, inode, BTRFS_EXTENT_DATA_KEY, last + 1, UINT64_MAX };

	expect_tree_search(&key, NULL, 0, 0);
}

static int find(const char *path, uint64_t offset, struct file_extent *ret_extent)
{
	const struct send_command command = {
		.type = SEND_UPDATE_EXTENT,
		.path = path,
		.offset = offset,
		.length = KIB(128),
	};

	uint64_t length = 0;
	int ret = send_extents_find(extents, &command, ret_extent, &length);

	if (ret >= 0)
		assert_int_equal(length, KIB(128));
	return ret;
}

/* One walk through each file, however many extents it has. */
TEST_WITH(test_in_order, setup, teardown)
{
	const uint64_t a = 257, b = 258;
	struct file_extent extent;

	expect_extents(a, 0, 3);
	assert_int_equal(find("a", 0, &extent), 1);
	assert_int_equal(extent.disk_bytes, KIB(8));
	assert_int_equal(find("a", KIB(128), &extent), 1);
	assert_int_equal(extent.offset, KIB(128));
	/* within an extent: the rest of it was cloned */
	assert_int_equal(find("a", KIB(260), &extent), 1);
	assert_int_equal(extent.offset, KIB(256));
	expect_no_more(a, KIB(256));
	assert_int_equal(find("a", KIB(384), &extent), 0);

	expect_extents(b, KIB(128), 1);
	assert_int_equal(find("b", 0, &extent), 0);
	assert_int_equal(find("b", KIB(128), &extent), 1);
}

TEST_WITH(test_back_to_the_start, setup, teardown)
{
	const uint64_t a = 257;
	struct file_extent extent;

	expect_extents(a, 0, 2);
	assert_int_equal(find("a", KIB(128), &extent), 1);
	expect_extents(a, 0, 2);
	assert_int_equal(find("a", 0, &extent), 1);
	assert_int_equal(extent.offset, 0);
}

TEST_WITH(test_no_such_file, setup, teardown)
{
	struct file_extent extent = { .offset = 99 };

	assert_int_equal(find("gone", 0, &extent), 0);
	assert_int_equal(find("gone", KIB(128), &extent), 0);
	assert_int_equal(find("a", UINT64_MAX, &extent), 0);
	assert_int_equal(extent.offset, 99);
}

TEST_WITH(test_errors, setup, teardown)
{
	const struct search_key key = { 0, 257, BTRFS_EXTENT_DATA_KEY, 0, UINT64_MAX };
	struct file_extent extent;

	expect_tree_search(&key, NULL, 0, EIO);
	assert_int_equal(find("a", 0, &extent), -EIO);
	assert_int_equal(find("unreadable", 0, &extent), -EIO);
}

/* An item of "a" that begins at OFFSET, 0: none; and a hole if it has no BYTENR. */
static void expect_item(uint64_t offset, uint64_t length, uint64_t bytenr, uint64_t from)
{
	const struct btrfs_file_extent_item raw = {
		.ram_bytes = htole64(length),
		.type = BTRFS_FILE_EXTENT_REG,
		.disk_bytenr = htole64(bytenr),
		.disk_num_bytes = htole64(bytenr ? length : 0),
		.num_bytes = htole64(length),
	};
	const struct search_key key = { 0, 257, BTRFS_EXTENT_DATA_KEY, from, UINT64_MAX };
	const struct tree_item item = {
		.objectid = 257,
		.type = BTRFS_EXTENT_DATA_KEY,
		.offset = offset,
		.data = &raw,
		.size = sizeof(raw),
	};

	expect_tree_search(&key, &item, length ? 1 : 0, 0);
}

static int find_length(uint64_t offset, uint32_t length, uint64_t *ret_length)
{
	const struct send_command command = {
		.type = SEND_UPDATE_EXTENT,
		.path = "a",
		.offset = offset,
		.length = length,
	};
	struct file_extent extent;

	return send_extents_find(extents, &command, &extent, ret_length);
}

#define GIB(n) MIB((n)*UINT64_C(1024))

/* No hole in it can be too large. */
TEST_WITH(test_length_in_a_small_file, setup_incremental, teardown)
{
	uint64_t length;

	file_size = GIB(4) + MIB(1) - 1;
	assert_int_equal(find_length(MIB(1), MIB(7), &length), 0);
	assert_int_equal(length, MIB(7));
}

/* The kernel sends 32 bits of it. It ends at the next item. */
TEST_WITH(test_length_of_a_hole, setup_incremental, teardown)
{
	uint64_t length;

	file_size = GIB(8);
	for (int i = 0; i < 2; i++)
		expect_item(GIB(6), MIB(1), MIB(5), MIB(256));
	assert_int_equal(find_length(MIB(512), (uint32_t)(GIB(6) - MIB(512)), &length), 0);
	assert_int_equal(length, GIB(6) - MIB(512));
	/* the item itself */
	assert_int_equal(find_length(GIB(6), MIB(1), &length), 0);
	assert_int_equal(length, MIB(1));
}

TEST_WITH(test_length_of_the_last_hole, setup_incremental, teardown)
{
	uint64_t length;

	file_size = GIB(9) + 1;
	for (int i = 0; i < 2; i++)
		expect_item(0, 0, 0, 0);
	assert_int_equal(find_length(KIB(4), (uint32_t)(GIB(9) + 1 - KIB(4)), &length), 0);
	assert_int_equal(length, GIB(9) + 1 - KIB(4));
}

TEST_WITH(test_length_of_an_item_that_is_a_hole, setup_incremental, teardown)
{
	uint64_t length;

	file_size = GIB(9);
	for (int i = 0; i < 2; i++)
		expect_item(MIB(1), GIB(5), 0, 0);
	assert_int_equal(find_length(MIB(1), (uint32_t)GIB(5), &length), 0);
	assert_int_equal(length, GIB(5));
}

TEST_WITH(test_length_that_is_not_known, setup_incremental, teardown)
{
	struct file_extent extent;
	uint64_t length;

	file_size = GIB(9);
	for (int i = 0; i < 2; i++)
		expect_item(0, 0, 0, 0);
	assert_int_equal(find_length(KIB(4), 99, &length), -ENODATA);
	assert_int_equal(find("gone", 0, &extent), -ENODATA);
}
