// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>

#include <linux/fs.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/inode-flags.h"
#include "kernel-answers.h"
#include "test.h"

#define INODE 257

static void expect_getflags(unsigned int file_flags, int error)
{
	ioctl_mock_expect(&(struct ioctl_call){
		.request = FS_IOC_GETFLAGS,
		.error = error,
		.answer = &file_flags,
		.answer_size = sizeof(file_flags),
	});
}

static const struct search_key inode_key = { 0, INODE, BTRFS_INODE_ITEM_KEY, 0, 0 };

static struct tree_item item_of(const struct btrfs_inode_item *raw)
{
	return (struct tree_item){
		.objectid = INODE,
		.type = BTRFS_INODE_ITEM_KEY,
		.data = raw,
		.size = sizeof(*raw),
	};
}

TEST_WITH(test_names, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = INODE_NODATASUM | INODE_NODATACOW | INODE_PREALLOC | 1 << 11 | 1 << 12 |
			 1u << 31;

	assert_string_equal(inode_flags_take_name(&flags), "nodatasum");
	assert_string_equal(inode_flags_take_name(&flags), "nodatacow");
	assert_string_equal(inode_flags_take_name(&flags), "prealloc");
	assert_string_equal(inode_flags_take_name(&flags), "compress");
	assert_null(inode_flags_take_name(&flags));
	assert_int_equal(flags, 1 << 12 | 1u << 31);
}

TEST_WITH(test_every_flag_ends, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = UINT32_MAX;
	int count = 0;

	while (inode_flags_take_name(&flags))
		count++;
	assert_int_equal(count, 12);
	assert_int_equal(flags, 0xfffff000);
	flags = 0;
	assert_null(inode_flags_take_name(&flags));
}

TEST_WITH(test_file_flags, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = 99;

	expect_getflags(FS_NOCOW_FL | FS_APPEND_FL | FS_EXTENT_FL, 0);
	assert_int_equal(inode_flags_of(MOCK_FD, &flags), 0);
	assert_int_equal(flags, INODE_NODATACOW | 1 << 7);
	expect_getflags(0, 0);
	assert_int_equal(inode_flags_of(MOCK_FD, &flags), 0);
	assert_int_equal(flags, 0);
}

/* One by one: each has the place that the tree has for it. */
TEST_WITH(test_each_file_flag, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const struct {
		unsigned int file_flag;
		const char *name;
	} cases[] = {
		{ FS_NOCOW_FL, "nodatacow" }, { FS_NOCOMP_FL, "nocompress" },
		{ FS_SYNC_FL, "sync" },	      { FS_IMMUTABLE_FL, "immutable" },
		{ FS_APPEND_FL, "append" },   { FS_NODUMP_FL, "nodump" },
		{ FS_NOATIME_FL, "noatime" }, { FS_DIRSYNC_FL, "dirsync" },
		{ FS_COMPR_FL, "compress" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t flags;

		expect_getflags(cases[i].file_flag, 0);
		assert_int_equal(inode_flags_of(MOCK_FD, &flags), 0);
		assert_string_equal(inode_flags_take_name(&flags), cases[i].name);
		assert_int_equal(flags, 0);
	}
}

TEST_WITH(test_file_flags_error, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = 99;

	expect_getflags(0, ENOTTY);
	assert_int_equal(inode_flags_of(MOCK_FD, &flags), -ENOTTY);
	assert_int_equal(flags, 99);
}

TEST_WITH(test_parse, ioctl_mock_setup, ioctl_mock_teardown)
{
	const struct btrfs_inode_item raw = { .flags = htole64(1ULL << 40 | 0x13) };
	struct tree_item item = item_of(&raw);
	uint32_t flags = 99;

	assert_int_equal(inode_flags_parse(&item, &flags), 0);
	assert_int_equal(flags, 0x13);
	flags = 99;
	for (item.size = 0; item.size < offsetof(struct btrfs_inode_item, flags) + 8; item.size++)
		assert_int_equal(inode_flags_parse(&item, &flags), -EPROTO);
	assert_int_equal(flags, 99);
	assert_int_equal(inode_flags_parse(&item, &flags), 0);
}

/* The tree may be behind, but of nodatasum and prealloc only it tells. */
TEST_WITH(test_all, ioctl_mock_setup, ioctl_mock_teardown)
{
	const struct btrfs_inode_item raw = {
		.flags = htole64(INODE_NODATASUM | INODE_PREALLOC | 1 << 7 | 1u << 31),
	};
	const struct tree_item item = item_of(&raw);
	uint32_t flags = 99;

	expect_getflags(FS_NOCOW_FL, 0);
	expect_tree_search(&inode_key, &item, 1, 0);
	assert_int_equal(inode_flags_all_of(MOCK_FD, INODE, &flags), 0);
	assert_int_equal(flags, INODE_NODATACOW | INODE_NODATASUM | INODE_PREALLOC | 1u << 31);
}

TEST_WITH(test_all_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = 99;

	expect_getflags(0, EACCES);
	assert_int_equal(inode_flags_all_of(MOCK_FD, INODE, &flags), -EACCES);
	expect_getflags(0, 0);
	expect_tree_search(&inode_key, NULL, 0, EPERM);
	assert_int_equal(inode_flags_all_of(MOCK_FD, INODE, &flags), -EPERM);
	expect_getflags(0, 0);
	expect_tree_search(&inode_key, NULL, 0, 0);
	assert_int_equal(inode_flags_all_of(MOCK_FD, INODE, &flags), -ENOENT);
	assert_int_equal(flags, 99);
}

/* A name in each of COUNT directories, from inode FIRST on. */
static void expect_names(uint64_t from, uint64_t first, uint32_t count, int error)
{
	const struct search_key key = { 0, INODE, BTRFS_INODE_REF_KEY, from, UINT64_MAX };
	struct tree_item items[3];

	assert_true(count <= ARRAY_SIZE(items));
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct tree_item){
			.objectid = INODE,
			.type = BTRFS_INODE_REF_KEY,
			.offset = first + i,
			.data = "",
			.size = 0,
		};
	expect_tree_search(&key, items, count, error);
}

/* The inode of a directory, which does not exist with UINT64_MAX for its flags. */
static void expect_directory(uint64_t inode, uint64_t inode_flags, int error)
{
	const struct search_key key = { 0, inode, BTRFS_INODE_ITEM_KEY, 0, 0 };
	const struct btrfs_inode_item raw = { .flags = htole64(inode_flags) };
	struct tree_item item = item_of(&raw);

	item.objectid = inode;
	expect_tree_search(&key, &item, inode_flags != UINT64_MAX && !error ? 1 : 0, error);
}

TEST_WITH(test_parents, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = 99;

	expect_names(0, 300, 3, 0);
	expect_directory(300, 1 << 7, 0);
	expect_directory(301, UINT64_MAX, 0);
	expect_directory(302, INODE_NODATACOW, 0);
	expect_names(303, 0, 0, 0);
	assert_int_equal(inode_flags_of_parents(MOCK_FD, INODE, &flags), 0);
	assert_int_equal(flags, INODE_NODATACOW | 1 << 7);
	/* deleted, and still open */
	expect_names(0, 300, 0, 0);
	assert_int_equal(inode_flags_of_parents(MOCK_FD, INODE, &flags), 0);
	assert_int_equal(flags, 0);
}

TEST_WITH(test_parents_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint32_t flags = 99;

	expect_names(0, 300, 0, EPERM);
	assert_int_equal(inode_flags_of_parents(MOCK_FD, INODE, &flags), -EPERM);
	expect_names(0, 300, 1, 0);
	expect_directory(300, 0, EIO);
	assert_int_equal(inode_flags_of_parents(MOCK_FD, INODE, &flags), -EIO);
	assert_int_equal(flags, 99);
}

static void expect_setflags(unsigned int file_flags, int error)
{
	ioctl_mock_expect(&(struct ioctl_call){
		.request = FS_IOC_SETFLAGS,
		.expected = &file_flags,
		.expected_size = sizeof(file_flags),
		.error = error,
	});
}

TEST_WITH(test_set_nocow, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_setflags(0, 0);
	expect_setflags(FS_NOCOW_FL, 0);
	assert_int_equal(inode_flags_set_nocow(MOCK_FD, true), 0);
	expect_setflags(0, 0);
	assert_int_equal(inode_flags_set_nocow(MOCK_FD, false), 0);
	expect_setflags(0, EPERM);
	assert_int_equal(inode_flags_set_nocow(MOCK_FD, true), -EPERM);
}
