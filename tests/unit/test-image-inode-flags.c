// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/inode-flags.h"
#include "num/digest.h"
#include "probe/image-inode-flags.h"
#include "test.h"

#define NODE_SIZE 16384
#define TREE BTRFS_FS_TREE_OBJECTID
#define INODE 257
#define OTHER_INODE 258
#define IMAGE_SIZE (4 << 20)

static const uint8_t fsid[FSID_SIZE] = "0123456789abcdef";

/* What a leaf is made of. */
struct leaf {
	struct btrfs_header header;
	struct btrfs_item items[2];
	uint8_t rest[NODE_SIZE - sizeof(struct btrfs_header) - 2 * sizeof(struct btrfs_item)];
} __attribute__((packed));

static void sum(void *leaf, size_t size)
{
	uint32_t checksum =
		htole32(~crc32c(~0U, (uint8_t *)leaf + BTRFS_CSUM_SIZE, size - BTRFS_CSUM_SIZE));

	memcpy(leaf, &checksum, sizeof(checksum));
}

static struct btrfs_inode_item *inode_item(struct leaf *leaf, int index)
{
	return (struct btrfs_inode_item *)((uint8_t *)leaf->items +
					   le32toh(leaf->items[index].offset));
}

static void add_inode(struct leaf *leaf, int index, uint64_t inode)
{
	const uint32_t size = sizeof(struct btrfs_inode_item);

	leaf->items[index].key.objectid = htole64(inode);
	leaf->items[index].key.type = BTRFS_INODE_ITEM_KEY;
	leaf->items[index].offset =
		htole32(NODE_SIZE - sizeof(struct btrfs_header) - (index + 1) * size);
	leaf->items[index].size = htole32(size);
	inode_item(leaf, index)->flags = htole64(INODE_PREALLOC);
}

static void make_leaf(struct leaf *leaf)
{
	memset(leaf, 0, sizeof(*leaf));
	memcpy(leaf->header.fsid, fsid, sizeof(fsid));
	leaf->header.owner = htole64(TREE);
	leaf->header.nritems = htole32(2);
	add_inode(leaf, 0, INODE);
	add_inode(leaf, 1, OTHER_INODE);
	sum(leaf, sizeof(*leaf));
}

static bool edit(struct leaf *leaf)
{
	return image_inode_flags_edit_leaf(leaf, sizeof(*leaf), fsid, TREE, INODE, INODE_NODATACOW);
}

TEST(test_leaf)
{
	struct leaf *leaf = malloc(sizeof(*leaf));
	uint32_t checksum;

	make_leaf(leaf);
	assert_true(edit(leaf));
	assert_int_equal(le64toh(inode_item(leaf, 0)->flags), INODE_PREALLOC | INODE_NODATACOW);
	assert_int_equal(le64toh(inode_item(leaf, 1)->flags), INODE_PREALLOC);
	memcpy(&checksum, leaf, sizeof(checksum));
	sum(leaf, sizeof(*leaf));
	assert_memory_equal(&checksum, leaf, sizeof(checksum));

	assert_true(image_inode_flags_edit_leaf(leaf, sizeof(*leaf), fsid, TREE, OTHER_INODE,
						INODE_NODATASUM));
	assert_int_equal(le64toh(inode_item(leaf, 1)->flags), INODE_PREALLOC | INODE_NODATASUM);
	assert_false(image_inode_flags_edit_leaf(leaf, sizeof(*leaf), fsid, TREE, 259,
						 INODE_NODATASUM));
	free(leaf);
}

static void break_fsid(struct leaf *leaf)
{
	leaf->header.fsid[3]++;
}

static void break_owner(struct leaf *leaf)
{
	leaf->header.owner = htole64(TREE + 1);
}

static void break_level(struct leaf *leaf)
{
	leaf->header.level = 1;
}

static void break_type(struct leaf *leaf)
{
	leaf->items[0].key.type = BTRFS_INODE_REF_KEY;
}

static void break_key_offset(struct leaf *leaf)
{
	leaf->items[0].key.offset = htole64(1);
}

static void break_size(struct leaf *leaf)
{
	leaf->items[0].size = htole32(sizeof(struct btrfs_inode_item) - 1);
}

static void break_offset(struct leaf *leaf)
{
	leaf->items[0].offset = htole32(NODE_SIZE - sizeof(struct btrfs_header) -
					sizeof(struct btrfs_inode_item) + 1);
}

static void break_offset_far(struct leaf *leaf)
{
	leaf->items[0].offset = htole32(UINT32_MAX);
}

/* in the items themselves */
static void break_offset_near(struct leaf *leaf)
{
	leaf->items[0].offset = htole32(2 * sizeof(struct btrfs_item) - 1);
}

static void break_count(struct leaf *leaf)
{
	leaf->header.nritems = htole32(UINT32_MAX);
}

TEST(test_leaves_of_others)
{
	static void (*const breaks[])(struct leaf *) = {
		break_fsid, break_owner,  break_level,	    break_type,	       break_key_offset,
		break_size, break_offset, break_offset_far, break_offset_near, break_count,
	};
	struct leaf *leaf = malloc(sizeof(*leaf)), *before = malloc(sizeof(*before));

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		make_leaf(leaf);
		breaks[i](leaf);
		sum(leaf, sizeof(*leaf));
		*before = *leaf;
		assert_false(edit(leaf));
		assert_memory_equal(leaf, before, sizeof(*leaf));
	}
	make_leaf(leaf);
	leaf->rest[5]++;
	assert_false(edit(leaf));
	assert_false(image_inode_flags_edit_leaf(leaf, sizeof(struct btrfs_header) - 1, fsid, TREE,
						 INODE, 1));
	free(leaf);
	free(before);
}

static void put(int fd, const void *data, size_t size, off_t offset)
{
	assert_int_equal(pwrite(fd, data, size, offset), size);
}

static void put_super(int fd, uint32_t node_size, uint16_t checksum_type)
{
	struct btrfs_super_block super = {
		.magic = htole64(BTRFS_MAGIC),
		.nodesize = htole32(node_size),
		.csum_type = htole16(checksum_type),
	};

	memcpy(super.fsid, fsid, sizeof(fsid));
	put(fd, &super, sizeof(super), BTRFS_SUPER_INFO_OFFSET);
}

static int new_image(void)
{
	char path[] = "/tmp/btrfs-fastpath-test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, IMAGE_SIZE), 0);
	return fd;
}

static uint64_t flags_at(int fd, off_t offset)
{
	struct leaf *leaf = malloc(sizeof(*leaf));
	uint64_t flags;

	assert_int_equal(pread(fd, leaf, sizeof(*leaf), offset), sizeof(*leaf));
	flags = le64toh(inode_item(leaf, 0)->flags);
	free(leaf);
	return flags;
}

/* Both copies, and the one that is not on a bound is none. */
TEST(test_image)
{
	const off_t copies[] = { 1 << 20, (1 << 20) + 5 * NODE_SIZE };
	const off_t data = (2 << 20) + 4096;
	struct leaf *leaf = malloc(sizeof(*leaf));
	int fd = new_image();

	make_leaf(leaf);
	put_super(fd, NODE_SIZE, BTRFS_CSUM_TYPE_CRC32);
	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, INODE_NODATACOW), -ENOENT);
	put(fd, leaf, sizeof(*leaf), data);
	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, INODE_NODATACOW), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		put(fd, leaf, sizeof(*leaf), copies[i]);
	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, INODE_NODATACOW), 0);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		assert_int_equal(flags_at(fd, copies[i]), INODE_PREALLOC | INODE_NODATACOW);
	assert_int_equal(flags_at(fd, data), INODE_PREALLOC);
	free(leaf);
	close(fd);
}

TEST(test_images_of_others)
{
	static const uint32_t node_sizes[] = { 0, 2048, 12288, 131072, UINT32_MAX };
	int fd = new_image();

	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, 1), -EPROTO);
	for (size_t i = 0; i < ARRAY_SIZE(node_sizes); i++) {
		put_super(fd, node_sizes[i], BTRFS_CSUM_TYPE_CRC32);
		assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, 1), -EPROTO);
	}
	put_super(fd, NODE_SIZE, BTRFS_CSUM_TYPE_CRC32 + 1);
	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, 1), -EPROTO);
	assert_int_equal(ftruncate(fd, BTRFS_SUPER_INFO_OFFSET + 100), 0);
	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, 1), -EPROTO);
	close(fd);
	assert_int_equal(image_inode_flags_edit(fd, TREE, INODE, 1), -EBADF);
}
