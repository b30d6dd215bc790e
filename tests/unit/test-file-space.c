// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "sharing/file-space.h"
#include "test.h"

#define INODE 300
#define ROOM (64 * 1024)
#define INLINE_HEADER offsetof(struct btrfs_file_extent_item, disk_bytenr)

static struct space_reader *reader;
static struct disk_extent extents[8];
static size_t extent_count;

static int setup(void **state)
{
	extent_count = 0;
	return ioctl_mock_setup(state) || space_reader_new(&reader);
}

static int teardown(void **state)
{
	space_reader_free(reader);
	return ioctl_mock_teardown(state);
}

static int take_extent(void *data, const struct disk_extent *extent)
{
	assert_ptr_equal(data, &reader);
	assert_true(extent_count < ARRAY_SIZE(extents));
	extents[extent_count++] = *extent;
	return 0;
}

static struct btrfs_file_extent_item extent_of(uint8_t type, uint64_t bytenr, uint64_t disk_bytes,
					       uint64_t length)
{
	return (struct btrfs_file_extent_item){
		.ram_bytes = htole64(length),
		.type = type,
		.disk_bytenr = htole64(bytenr),
		.disk_num_bytes = htole64(disk_bytes),
		.num_bytes = htole64(length),
	};
}

static struct tree_item item_of(const void *data, uint32_t size, uint32_t type, uint64_t offset,
				uint64_t generation)
{
	return (struct tree_item){ INODE, type, offset, generation, data, size };
}

static void expect_items(uint64_t tree, struct tree_key min, const struct tree_item *items,
			 uint32_t count)
{
	const struct tree_key max = tree ? (struct tree_key){ UINT64_MAX, 255, UINT64_MAX } :
					   (struct tree_key){ INODE, BTRFS_EXTENT_DATA_KEY,
							      UINT64_MAX };

	expect_batch(&(struct batch_key){ tree, min, max, UINT32_MAX, ROOM }, items, count, 0);
}

static const struct tree_key start = { INODE, BTRFS_EXTENT_DATA_KEY, 0 };

/* The items of the file; a whole tree also has its inode. */
static void expect_file(uint64_t tree)
{
	const struct btrfs_inode_item inode = { 0 };
	const struct btrfs_file_extent_item pieces[] = {
		extent_of(BTRFS_FILE_EXTENT_REG, MIB(8), KIB(512), KIB(100)),
		extent_of(BTRFS_FILE_EXTENT_REG, MIB(4), KIB(64), KIB(64)),
		extent_of(BTRFS_FILE_EXTENT_REG, MIB(8), KIB(512), KIB(200)),
		extent_of(BTRFS_FILE_EXTENT_REG, 0, 0, KIB(1000)),
		extent_of(BTRFS_FILE_EXTENT_PREALLOC, MIB(16), KIB(128), KIB(128)),
	};
	struct tree_item items[1 + ARRAY_SIZE(pieces)];
	size_t first = tree ? 0 : 1;
	uint64_t offset = 0;

	items[0] = item_of(&inode, sizeof(inode), BTRFS_INODE_ITEM_KEY, 0, 5);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		items[i + 1] = item_of(&pieces[i], sizeof(pieces[i]), BTRFS_EXTENT_DATA_KEY, offset,
				       i < 2 ? 5 : 9);
		offset += le64toh(pieces[i].num_bytes);
	}
	expect_items(tree, tree ? (struct tree_key){ 0 } : start, items + first,
		     ARRAY_SIZE(items) - first);
	expect_items(tree, (struct tree_key){ INODE, BTRFS_EXTENT_DATA_KEY, offset - KIB(128) + 1 },
		     NULL, 0);
}

static void read_file(struct byte_range range, uint64_t disk_bytes, uint64_t inline_bytes)
{
	uint64_t disk, in_tree;

	assert_int_equal(space_read_file(reader, MOCK_FD, INODE, range, take_extent, &reader, &disk,
					 &in_tree),
			 0);
	assert_int_equal(disk, disk_bytes);
	assert_int_equal(in_tree, inline_bytes);
}

static void assert_extent(size_t i, uint64_t bytenr, uint64_t disk_bytes)
{
	assert_true(i < extent_count);
	assert_int_equal(extents[i].bytenr, bytenr);
	assert_int_equal(extents[i].disk_bytes, disk_bytes);
}

TEST_WITH(test_each_extent_of_a_file_once, setup, teardown)
{
	expect_file(0);
	read_file(WHOLE_FILE, KIB(512 + 64 + 128), 0);
	assert_int_equal(extent_count, 3);
	assert_extent(0, MIB(4), KIB(64));
	assert_extent(1, MIB(8), KIB(512));
	assert_extent(2, MIB(16), KIB(128));
}

TEST_WITH(test_a_range_has_whole_extents, setup, teardown)
{
	/* the last byte of the first piece, and the first one of the second */
	expect_file(0);
	read_file((struct byte_range){ KIB(100) - 1, 2 }, KIB(512 + 64), 0);
	expect_file(0);
	read_file((struct byte_range){ KIB(100), KIB(64) }, KIB(64), 0);
	expect_file(0);
	read_file((struct byte_range){ KIB(364), KIB(1000) }, 0, 0);
}

TEST_WITH(test_inline_data_counts_as_stored, setup, teardown)
{
	const struct btrfs_file_extent_item raw = extent_of(BTRFS_FILE_EXTENT_INLINE, 0, 0, KIB(2));
	const struct tree_item item = item_of(&raw, INLINE_HEADER + 7, BTRFS_EXTENT_DATA_KEY, 0, 5);

	expect_items(0, start, &item, 1);
	expect_items(0, (struct tree_key){ INODE, BTRFS_EXTENT_DATA_KEY, 1 }, NULL, 0);
	read_file(WHOLE_FILE, 7, 7);
	assert_int_equal(extent_count, 0);
}

TEST_WITH(test_a_whole_subvolume, setup, teardown)
{
	expect_file(257);
	assert_int_equal(space_read_subvolume(reader, MOCK_FD, 257, 0, take_extent, &reader), 0);
	/* as they come: who takes them sorts them */
	assert_int_equal(extent_count, 4);
	assert_extent(0, MIB(8), KIB(512));
	assert_extent(3, MIB(16), KIB(128));
}

TEST_WITH(test_newer_leaves_alone, setup, teardown)
{
	const struct btrfs_file_extent_item raw = extent_of(BTRFS_FILE_EXTENT_REG, MIB(8), KIB(512),
							    KIB(100));
	const struct tree_item item = item_of(&raw, sizeof(raw), BTRFS_EXTENT_DATA_KEY, 0, 9);
	struct batch_key key = { 257, { 0 }, { UINT64_MAX, 255, UINT64_MAX }, UINT32_MAX, ROOM };

	expect_newer_batch(&key, 7, &item, 1);
	key.min = (struct tree_key){ INODE, BTRFS_EXTENT_DATA_KEY, 1 };
	expect_newer_batch(&key, 7, NULL, 0);
	assert_int_equal(space_read_subvolume(reader, MOCK_FD, 257, 7, take_extent, &reader), 0);
	assert_int_equal(extent_count, 1);
	assert_int_equal(extents[0].leaf_generation, 9);

	/* the next reading has all again */
	expect_file(257);
	assert_int_equal(space_read_subvolume(reader, MOCK_FD, 257, 0, take_extent, &reader), 0);
}

TEST_WITH(test_failures, setup, teardown)
{
	const struct tree_item broken = item_of("x", 1, BTRFS_EXTENT_DATA_KEY, 0, 5);
	uint64_t disk, in_tree;

	expect_batch(
		&(struct batch_key){
			0, start, { INODE, BTRFS_EXTENT_DATA_KEY, UINT64_MAX }, UINT32_MAX, ROOM },
		NULL, 0, EPERM);
	assert_int_equal(space_read_file(reader, MOCK_FD, INODE, WHOLE_FILE, take_extent, &reader,
					 &disk, &in_tree),
			 -EPERM);
	expect_items(0, start, &broken, 1);
	assert_int_equal(space_read_file(reader, MOCK_FD, INODE, WHOLE_FILE, take_extent, &reader,
					 &disk, &in_tree),
			 -EPROTO);
}
