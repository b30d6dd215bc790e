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

static int setup(void **state)
{
	if (ioctl_mock_setup(state))
		return -1;
	return send_extents_new(&extents, MOCK_FD, 0);
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

	return send_extents_find(extents, &command, ret_extent);
}

/* One walk through each file, however many extents it has. */
static void test_in_order(void **state)
{
	const uint64_t a = 257, b = 258;
	struct file_extent extent;

	(void)state;
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

static void test_back_to_the_start(void **state)
{
	const uint64_t a = 257;
	struct file_extent extent;

	(void)state;
	expect_extents(a, 0, 2);
	assert_int_equal(find("a", KIB(128), &extent), 1);
	expect_extents(a, 0, 2);
	assert_int_equal(find("a", 0, &extent), 1);
	assert_int_equal(extent.offset, 0);
}

static void test_no_such_file(void **state)
{
	struct file_extent extent = { .offset = 99 };

	(void)state;
	assert_int_equal(find("gone", 0, &extent), 0);
	assert_int_equal(find("gone", KIB(128), &extent), 0);
	assert_int_equal(find("a", UINT64_MAX, &extent), 0);
	assert_int_equal(extent.offset, 99);
}

static void test_errors(void **state)
{
	const struct search_key key = { 0, 257, BTRFS_EXTENT_DATA_KEY, 0, UINT64_MAX };
	struct file_extent extent;

	(void)state;
	expect_tree_search(&key, NULL, 0, EIO);
	assert_int_equal(find("a", 0, &extent), -EIO);
	assert_int_equal(find("unreadable", 0, &extent), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_to_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_such_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
	};

	return cmocka_run_group_tests_name("send-extents", tests, NULL, NULL);
}
