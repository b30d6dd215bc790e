// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/inode-names.h"
#include "test.h"

TEST(test_refs)
{
	struct __attribute__((packed)) {
		struct btrfs_inode_ref first;
		char first_name[3];
		struct btrfs_inode_ref second;
		char second_name[1];
	} data = {
		.first.name_len = htole16(3),
		.first_name = "abc",
		.second.name_len = htole16(1),
		.second_name = "d",
	};
	struct tree_item item = { 300, BTRFS_INODE_REF_KEY, 257, 1, &data, sizeof(data) };
	struct inode_name name = { 0 };
	size_t position = 0;

	assert_int_equal(inode_name_parse(&item, &position, &name), 1);
	assert_int_equal(name.parent, 257);
	assert_int_equal(name.length, 3);
	assert_memory_equal(name.name, "abc", 3);
	assert_int_equal(inode_name_parse(&item, &position, &name), 1);
	assert_int_equal(name.length, 1);
	assert_memory_equal(name.name, "d", 1);
	assert_int_equal(inode_name_parse(&item, &position, &name), 0);

	/* every shorter item ends between two names, or is damaged */
	for (item.size = 1; item.size < sizeof(data); item.size++) {
		int ret;

		position = 0;
		while ((ret = inode_name_parse(&item, &position, &name)) > 0)
			assert_true(position <= item.size);
		assert_int_equal(ret, item.size == offsetof(typeof(data), second) ? 0 : -EPROTO);
	}
}

TEST(test_extref)
{
	struct __attribute__((packed)) {
		struct btrfs_inode_extref ref;
		char name[2];
	} data = {
		.ref.parent_objectid = htole64(258),
		.ref.name_len = htole16(2),
		.name = "ab",
	};
	struct tree_item item = { 300, BTRFS_INODE_EXTREF_KEY, 77, 1, &data, sizeof(data) };
	struct inode_name name = { 0 };
	size_t position = 0;

	assert_int_equal(inode_name_parse(&item, &position, &name), 1);
	assert_int_equal(name.parent, 258);
	assert_int_equal(name.length, 2);
	assert_memory_equal(name.name, "ab", 2);
	assert_int_equal(inode_name_parse(&item, &position, &name), 0);
	for (item.size = 1; item.size < sizeof(data); item.size++) {
		position = 0;
		assert_int_equal(inode_name_parse(&item, &position, &name), -EPROTO);
	}
}

TEST(test_other_items_have_no_names)
{
	const struct tree_item item = { 300, BTRFS_INODE_ITEM_KEY, 0, 1, "anything", 8 };
	struct inode_name name = { 0 };
	size_t position = 0;

	assert_int_equal(inode_name_parse(&item, &position, &name), 0);
}
