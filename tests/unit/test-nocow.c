// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/inode-flags.h"
#include "kernel-answers.h"
#include "nocow/nocow.h"
#include "test.h"

#define INODE 257
#define SUBVOLID 300
#define LAST_SNAPSHOT 50
#define EXTENT_ROOM (16 * 1024)
#define CSUM_ROOM 4096
/* How far a node of 16 KiB full of checksums reaches. */
#define CSUM_REACH MIB(16)

#define UNWRITTEN FIEMAP_EXTENT_UNWRITTEN
#define SHARED FIEMAP_EXTENT_SHARED
#define LAST FIEMAP_EXTENT_LAST

static const struct nocow_file cow_file = {
	.fd = MOCK_FD,
	.inode = INODE,
	.size = MIB(1),
	.searchable = true,
	.subvolid = SUBVOLID,
	.last_snapshot = LAST_SNAPSHOT,
};

static struct nocow_file file_with(uint32_t inode_flags)
{
	struct nocow_file file = cow_file;

	file.inode_flags = inode_flags;
	return file;
}

/* -- one item -- */

static const struct file_extent new_item = {
	.length = KIB(4),
	.disk_bytenr = MIB(20),
	.generation = LAST_SNAPSHOT + 1,
};

static void assert_item(uint32_t inode_flags, const struct file_extent *item, bool shared,
			enum nocow_reason expected)
{
	const struct nocow_file file = file_with(inode_flags);

	assert_int_equal(nocow_reason_of_item(&file, item, shared), expected);
}

TEST(test_flags_of_inode)
{
	struct file_extent prealloc = new_item;

	prealloc.is_prealloc = true;
	assert_item(0, &new_item, false, NOCOW_REASON_NO_FLAG);
	assert_item(INODE_NODATASUM, &new_item, false, NOCOW_REASON_NO_FLAG);
	assert_item(INODE_PREALLOC, &new_item, false, NOCOW_REASON_NO_FLAG);
	assert_item(INODE_NODATACOW, &new_item, false, NOCOW_REASON_NODATACOW);
	/* one that was cloned, without the flag */
	assert_item(0, &prealloc, false, NOCOW_REASON_DIRECT_ONLY);
	assert_item(0, &prealloc, true, NOCOW_REASON_SHARED);
	assert_item(INODE_PREALLOC, &prealloc, false, NOCOW_REASON_PREALLOC);
	assert_item(INODE_NODATACOW, &prealloc, false, NOCOW_REASON_PREALLOC);
}

/* What speaks against a write in place, in the kernel's order: the earlier one wins. */
TEST(test_order)
{
	struct file_extent item = new_item;

	assert_item(INODE_NODATACOW, &item, true, NOCOW_REASON_SHARED);
	item.is_encoded = true;
	assert_item(INODE_NODATACOW, &item, true, NOCOW_REASON_COMPRESSED);
	item.is_encoded = false;
	item.is_compressed = true;
	assert_item(INODE_NODATACOW, &item, true, NOCOW_REASON_COMPRESSED);
	item.generation = LAST_SNAPSHOT;
	assert_item(INODE_NODATACOW, &item, true, NOCOW_REASON_GENERATION);
	assert_item(INODE_PREALLOC, &item, true, NOCOW_REASON_NO_FLAG);
	item.disk_bytenr = 0;
	assert_item(INODE_NODATACOW, &item, true, NOCOW_REASON_HOLE);
	item.is_inline = true;
	assert_item(INODE_NODATACOW, &item, true, NOCOW_REASON_INLINE);
	assert_item(0, &item, true, NOCOW_REASON_INLINE);
}

/* Nothing but what is certain. */
TEST(test_without_trees)
{
	static const struct {
		uint32_t inode_flags;
		uint32_t extent_flags;
		enum nocow_reason expected;
	} cases[] = {
		{ 0, 0, NOCOW_REASON_NO_FLAG },
		{ 0, SHARED | LAST, NOCOW_REASON_NO_FLAG },
		{ 0, FIEMAP_EXTENT_ENCODED, NOCOW_REASON_NO_FLAG },
		{ 0, UNWRITTEN, NOCOW_REASON_UNKNOWN },
		{ 0, UNWRITTEN | SHARED, NOCOW_REASON_SHARED },
		{ 0, FIEMAP_EXTENT_DATA_INLINE, NOCOW_REASON_INLINE },
		{ INODE_NODATACOW, 0, NOCOW_REASON_UNKNOWN },
		{ INODE_NODATACOW, UNWRITTEN, NOCOW_REASON_UNKNOWN },
		{ INODE_NODATACOW, SHARED, NOCOW_REASON_SHARED },
		{ INODE_NODATACOW, FIEMAP_EXTENT_ENCODED, NOCOW_REASON_COMPRESSED },
		{ INODE_NODATACOW, FIEMAP_EXTENT_DATA_INLINE, NOCOW_REASON_INLINE },
		{ INODE_NODATACOW, FIEMAP_EXTENT_DELALLOC, NOCOW_REASON_DELALLOC },
		{ 0, FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_UNKNOWN, NOCOW_REASON_DELALLOC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct nocow_file file = file_with(cases[i].inode_flags);
		const struct mapped_extent extent = { 0, MIB(20), KIB(4), cases[i].extent_flags };

		assert_int_equal(nocow_reason_of_mapped(&file, &extent), cases[i].expected);
	}
}

TEST(test_fates)
{
	static const enum nocow_fate fates[] = {
		[NOCOW_REASON_PREALLOC] = NOCOW_IN_PLACE,
		[NOCOW_REASON_NODATACOW] = NOCOW_IN_PLACE,
		[NOCOW_REASON_NO_FLAG] = NOCOW_COPIED,
		[NOCOW_REASON_GENERATION] = NOCOW_COPIED,
		[NOCOW_REASON_COMPRESSED] = NOCOW_COPIED,
		[NOCOW_REASON_READ_ONLY] = NOCOW_COPIED,
		[NOCOW_REASON_SHARED] = NOCOW_COPIED,
		[NOCOW_REASON_CHECKSUMS] = NOCOW_COPIED,
		[NOCOW_REASON_HOLE] = NOCOW_NEW,
		[NOCOW_REASON_INLINE] = NOCOW_NEW,
		[NOCOW_REASON_DIRECT_ONLY] = NOCOW_UNKNOWN,
		[NOCOW_REASON_DELALLOC] = NOCOW_UNKNOWN,
		[NOCOW_REASON_UNKNOWN] = NOCOW_UNKNOWN,
	};

	assert_int_equal(ARRAY_SIZE(fates), NOCOW_REASON_COUNT);
	for (int i = 0; i < NOCOW_REASON_COUNT; i++) {
		assert_int_equal(nocow_reason_fate(i), fates[i]);
		assert_non_null(nocow_reason_name(i));
	}
}

/* -- a whole file -- */

static struct nocow_iter *iter;

static int setup(void **state)
{
	return ioctl_mock_setup(state) || nocow_iter_new(&iter);
}

static int teardown(void **state)
{
	nocow_iter_free(iter);
	return ioctl_mock_teardown(state);
}

static void expect_info(void)
{
	static const uint32_t answer[256] = { [8] = 16384, [9] = 4096, [11] = 4 << 16, [12] = 1 };

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO,
		.answer = answer,
		.answer_size = sizeof(answer),
	});
}

static void start(const struct nocow_file *file, struct byte_range range)
{
	if (file->searchable)
		expect_info();
	assert_int_equal(nocow_iter_start(iter, file, range, 0), 0);
}

static void expect_map(const struct fiemap_extent *extents, uint32_t count)
{
	expect_fiemap(0, FIEMAP_MAX_OFFSET, 0, FIEMAP_ROOM, extents, count, 0);
}

/* An item of the file, and its bytes. */
struct item {
	uint64_t offset;
	struct btrfs_file_extent_item raw;
};

static struct item item_at(uint64_t offset, uint64_t bytenr, uint64_t extent_offset,
			   uint64_t length, uint8_t type)
{
	return (struct item){
		.offset = offset,
		.raw = {
			.generation = htole64(LAST_SNAPSHOT + 1),
			.type = type,
			.ram_bytes = htole64(extent_offset + length),
			.disk_bytenr = htole64(bytenr),
			.disk_num_bytes = htole64(extent_offset + length),
			.offset = htole64(extent_offset),
			.num_bytes = htole64(length),
		},
	};
}

static void expect_items(uint64_t from, const struct item *items, uint32_t count)
{
	const struct search_key key = { 0, INODE, BTRFS_EXTENT_DATA_KEY, from, UINT64_MAX };
	struct tree_item found[8];

	assert_true(count <= ARRAY_SIZE(found));
	for (uint32_t i = 0; i < count; i++)
		found[i] = (struct tree_item){
			.objectid = INODE,
			.type = BTRFS_EXTENT_DATA_KEY,
			.offset = items[i].offset,
			.leaf_generation = LAST_SNAPSHOT + 1,
			.data = &items[i].raw,
			.size = sizeof(items[i].raw),
		};
	expect_tree_search(&key, found, count, 0);
}

/* The extent at BYTENR, whose references are those of REFS. */
static void expect_extent_refs(uint64_t bytenr, uint32_t most, const struct extent_ref *refs,
			       size_t count)
{
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ bytenr, BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		most,
		EXTENT_ROOM,
	};
	const struct btrfs_extent_item extent = {
		.refs = htole64(count),
		.flags = htole64(BTRFS_EXTENT_FLAG_DATA),
	};
	char bytes[256];
	struct tree_item item = { bytenr, BTRFS_EXTENT_ITEM_KEY, MIB(1), 0, bytes, sizeof(extent) };

	memcpy(bytes, &extent, sizeof(extent));
	for (size_t i = 0; i < count; i++) {
		const struct btrfs_extent_data_ref ref = {
			.root = htole64(refs[i].root),
			.objectid = htole64(refs[i].inode),
			.offset = htole64(refs[i].offset),
			.count = htole32(1),
		};

		bytes[item.size++] = (char)BTRFS_EXTENT_DATA_REF_KEY;
		memcpy(bytes + item.size, &ref, sizeof(ref));
		item.size += sizeof(ref);
	}
	expect_batch(&key, &item, 1, 0);
}

/* The extent at BYTENR, whose one reference is INODE's, from FILE_OFFSET on. */
static void expect_extent(uint64_t bytenr, uint32_t most, uint64_t inode, uint64_t file_offset)
{
	const struct extent_ref ref = { .inode = inode, .offset = file_offset, .root = SUBVOLID };

	expect_extent_refs(bytenr, most, &ref, 1);
}

static void expect_extent_error(uint64_t bytenr, int error)
{
	const struct batch_key key = {
		BTRFS_EXTENT_TREE_OBJECTID,
		{ bytenr, BTRFS_EXTENT_ITEM_KEY, 0 },
		{ UINT64_MAX, UINT8_MAX, UINT64_MAX },
		1,
		EXTENT_ROOM,
	};

	expect_batch(&key, NULL, 0, error);
}

static void expect_no_extent(uint64_t bytenr)
{
	expect_extent_error(bytenr, 0);
}

/* Checksums of so many sectors at CSUM_BYTENR, 0: none. */
static struct batch_key checksums_from(uint64_t bytenr)
{
	return (struct batch_key){
		BTRFS_CSUM_TREE_OBJECTID,
		{ BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, bytenr },
		{ BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, UINT64_MAX },
		UINT32_MAX,
		CSUM_ROOM,
	};
}

static void expect_checksums(uint64_t bytenr, uint64_t csum_bytenr, uint32_t sectors)
{
	const struct batch_key key = checksums_from(bytenr);
	static const char checksums[64];
	const struct tree_item item = {
		BTRFS_EXTENT_CSUM_OBJECTID,
		BTRFS_EXTENT_CSUM_KEY,
		csum_bytenr,
		0,
		checksums,
		4 * sectors,
	};

	expect_batch(&key, &item, csum_bytenr ? 1 : 0, 0);
}

static void assert_range(uint64_t offset, uint64_t length, uint64_t bytenr,
			 enum nocow_reason reason, enum nocow_checksums checksums)
{
	struct nocow_range range;

	assert_int_equal(nocow_iter_next(iter, &range), 1);
	assert_int_equal(range.offset, offset);
	assert_int_equal(range.length, length);
	assert_int_equal(range.bytenr, bytenr);
	assert_int_equal(range.reason, reason);
	assert_int_equal(range.checksums, checksums);
}

static void assert_reasons(uint64_t offset, uint32_t reasons)
{
	struct nocow_range range;

	assert_int_equal(nocow_iter_next(iter, &range), 1);
	assert_int_equal(range.offset, offset);
	assert_int_equal(range.reasons, reasons);
	assert_true(range.reasons & NOCOW_REASON_BIT(range.reason));
}

static void assert_ends_with(int ret)
{
	struct nocow_range range = { .offset = 99 };

	assert_int_equal(nocow_iter_next(iter, &range), ret);
	assert_int_equal(range.offset, 99);
}

/* No tree is searched for an ordinary file. */
TEST_WITH(test_cow_file, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = KIB(64),
		  .fe_physical = MIB(20),
		  .fe_length = KIB(64),
		  .fe_flags = SHARED },
		{ .fe_logical = KIB(128),
		  .fe_length = KIB(4),
		  .fe_flags = FIEMAP_EXTENT_DELALLOC | LAST },
	};

	start(&cow_file, WHOLE_FILE);
	expect_map(extents, ARRAY_SIZE(extents));
	assert_range(0, KIB(64), 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(64), KIB(64), MIB(20), NOCOW_REASON_NO_FLAG, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(128), KIB(4), 0, NOCOW_REASON_DELALLOC, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(132), MIB(1) - KIB(132), 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);
	assert_ends_with(0);
}

TEST_WITH(test_empty_file, setup, teardown)
{
	struct nocow_file file = cow_file;

	file.size = 0;
	start(&file, WHOLE_FILE);
	expect_map(NULL, 0);
	assert_ends_with(0);
}

/* Extents behind the end of the file are reported, and the gap before them. */
TEST_WITH(test_prealloc_behind_the_end, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = MIB(2),
		  .fe_length = KIB(4),
		  .fe_flags = FIEMAP_EXTENT_DATA_INLINE | LAST },
	};

	start(&cow_file, WHOLE_FILE);
	expect_map(extents, ARRAY_SIZE(extents));
	assert_range(0, MIB(2), 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(MIB(2), KIB(4), 0, NOCOW_REASON_INLINE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);
}

/* Ranges are cut to what was asked for, holes too. */
TEST_WITH(test_part_of_a_file, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(64) },
		{ .fe_logical = KIB(96),
		  .fe_physical = MIB(30),
		  .fe_length = KIB(64),
		  .fe_flags = LAST },
	};

	start(&cow_file, (struct byte_range){ KIB(60), KIB(40) });
	expect_fiemap(KIB(60), KIB(40), 0, FIEMAP_ROOM, extents, ARRAY_SIZE(extents), 0);
	assert_range(KIB(60), KIB(4), MIB(20) + KIB(60), NOCOW_REASON_NO_FLAG,
		     NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(64), KIB(32), 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(96), KIB(4), MIB(30), NOCOW_REASON_NO_FLAG, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);

	/* an answer may go farther than the question */
	start(&cow_file, (struct byte_range){ KIB(64), KIB(16) });
	expect_fiemap(KIB(64), KIB(16), 0, FIEMAP_ROOM, extents, ARRAY_SIZE(extents), 0);
	assert_range(KIB(64), KIB(16), 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);
}

/* What is asked for beyond the end of the file is no hole of it. */
TEST_WITH(test_part_beyond_the_end, setup, teardown)
{
	start(&cow_file, (struct byte_range){ KIB(512), MIB(8) });
	expect_fiemap(KIB(512), MIB(8), 0, FIEMAP_ROOM, NULL, 0, 0);
	assert_range(KIB(512), KIB(512), 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);

	start(&cow_file, (struct byte_range){ MIB(1), MIB(8) });
	expect_fiemap(MIB(1), MIB(8), 0, FIEMAP_ROOM, NULL, 0, 0);
	assert_ends_with(0);
}

/* One extent for FIEMAP can be several items, with an answer each. */
TEST_WITH(test_items_of_an_extent, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(12), .fe_flags = LAST },
	};
	struct item items[] = {
		item_at(0, MIB(20), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
		item_at(KIB(4), MIB(20) + KIB(4), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
		item_at(KIB(8), MIB(19), MIB(1) + KIB(8), KIB(4), BTRFS_FILE_EXTENT_REG),
	};
	const struct nocow_file file = file_with(INODE_NODATACOW);

	items[1].raw.generation = htole64(LAST_SNAPSHOT);
	start(&file, (struct byte_range){ 0, KIB(12) });
	expect_fiemap(0, KIB(12), 0, FIEMAP_ROOM, extents, 1, 0);
	expect_items(0, items, ARRAY_SIZE(items));
	expect_extent(MIB(20), 1, INODE, 0);
	expect_checksums(MIB(20) - CSUM_REACH, 0, 0);
	expect_extent(MIB(20) + KIB(4), 2, INODE, KIB(4));
	/* its extent starts before the file does */
	expect_extent(MIB(19), 1, INODE, -MIB(1));
	assert_range(0, KIB(4), MIB(20), NOCOW_REASON_NODATACOW, NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(4), KIB(4), MIB(20) + KIB(4), NOCOW_REASON_GENERATION,
		     NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(8), KIB(4), MIB(20) + KIB(8), NOCOW_REASON_NODATACOW,
		     NOCOW_CHECKSUMS_NONE);
	assert_ends_with(0);
}

/* What the extent tree does not have yet is as FIEMAP says; what it has counts as well. */
TEST_WITH(test_references, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(4) },
		{ .fe_logical = KIB(4), .fe_physical = MIB(700), .fe_length = KIB(4) },
		{ .fe_logical = KIB(8),
		  .fe_physical = MIB(1400),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED | LAST },
	};
	const struct item items[] = {
		item_at(0, MIB(20), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
		item_at(KIB(4), MIB(700), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
		item_at(KIB(8), MIB(1400), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
	};
	const struct nocow_file file = file_with(INODE_NODATACOW);

	start(&file, (struct byte_range){ 0, KIB(12) });
	expect_fiemap(0, KIB(12), 0, FIEMAP_ROOM, extents, 3, 0);
	expect_items(0, items, ARRAY_SIZE(items));
	expect_no_extent(MIB(20));
	expect_checksums(MIB(20) - CSUM_REACH, 0, 0);
	expect_extent(MIB(700), 1, INODE + 1, KIB(4));
	assert_range(0, KIB(4), MIB(20), NOCOW_REASON_NODATACOW, NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(4), KIB(4), MIB(700), NOCOW_REASON_SHARED, NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(8), KIB(4), MIB(1400), NOCOW_REASON_SHARED, NOCOW_CHECKSUMS_NONE);
	assert_ends_with(0);
}

/* A relocation's copy is in doubt, in the item or in the flag alone; another file is not. */
TEST_WITH(test_copies_of_a_relocation, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(4) },
		{ .fe_logical = KIB(4),
		  .fe_physical = MIB(700),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED },
		{ .fe_logical = KIB(8),
		  .fe_physical = MIB(1400),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED | LAST },
	};
	const struct extent_ref copied[] = {
		{ INODE, 0, SUBVOLID },
		{ INODE + 9, 0, BTRFS_DATA_RELOC_TREE_OBJECTID },
	};
	const struct item items[] = {
		item_at(0, MIB(20), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
		item_at(KIB(4), MIB(700), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
		item_at(KIB(8), MIB(1400), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
	};
	struct nocow_file file = file_with(INODE_NODATACOW);
	const uint64_t doubtful[] = { 1, 2, 2 };

	file.may_have_copies = true;
	start(&file, (struct byte_range){ 0, KIB(12) });
	assert_false(nocow_iter_has_searched(iter));
	expect_fiemap(0, KIB(12), 0, FIEMAP_ROOM, extents, 3, 0);
	expect_items(0, items, ARRAY_SIZE(items));
	expect_extent_refs(MIB(20), 1, copied, 2);
	expect_checksums(MIB(20) - CSUM_REACH, 0, 0);
	expect_extent(MIB(700), 1, INODE, KIB(4));
	expect_extent(MIB(1400), 1, INODE + 1, KIB(8));
	for (int i = 0; i < 3; i++) {
		assert_range(KIB(4) * i, KIB(4), items[i].raw.disk_bytenr, NOCOW_REASON_SHARED,
			     NOCOW_CHECKSUMS_NONE);
		assert_int_equal(nocow_iter_doubtful_count(iter), doubtful[i]);
	}
	assert_true(nocow_iter_has_searched(iter));
	assert_ends_with(0);
}

/* Without privilege the flag is all that there is, and unknown while extents are moved. */
TEST_WITH(test_doubtful_flags, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(4) },
		{ .fe_logical = KIB(4),
		  .fe_physical = MIB(700),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED | LAST },
	};
	struct nocow_file file = file_with(INODE_NODATACOW);

	file.searchable = false;
	for (int is_moving = 0; is_moving < 2; is_moving++) {
		file.is_moving = is_moving;
		start(&file, (struct byte_range){ 0, KIB(8) });
		expect_fiemap(0, KIB(8), 0, FIEMAP_ROOM, extents, 2, 0);
		assert_range(0, KIB(4), MIB(20), NOCOW_REASON_UNKNOWN, NOCOW_CHECKSUMS_NOT_ASKED);
		assert_range(KIB(4), KIB(4), MIB(700),
			     is_moving ? NOCOW_REASON_UNKNOWN : NOCOW_REASON_SHARED,
			     NOCOW_CHECKSUMS_NOT_ASKED);
		assert_int_equal(nocow_iter_doubtful_count(iter), !is_moving);
		assert_false(nocow_iter_has_searched(iter));
		assert_ends_with(0);
	}
}

/* An item is divided where checksums begin and end. */
TEST_WITH(test_checksums, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0,
		  .fe_physical = MIB(64),
		  .fe_length = KIB(32),
		  .fe_flags = UNWRITTEN | LAST },
	};
	const struct item item = item_at(0, MIB(64), 0, KIB(32), BTRFS_FILE_EXTENT_PREALLOC);
	const struct nocow_file file = file_with(INODE_PREALLOC);

	start(&file, (struct byte_range){ 0, KIB(32) });
	expect_fiemap(0, KIB(32), 0, FIEMAP_ROOM, extents, 1, 0);
	expect_items(0, &item, 1);
	expect_extent(MIB(64), 1, INODE, 0);
	expect_checksums(MIB(48), MIB(64) + KIB(8), 2);
	expect_checksums(MIB(64) + KIB(16), 0, 0);
	assert_range(0, KIB(8), MIB(64), NOCOW_REASON_PREALLOC, NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(8), KIB(8), MIB(64) + KIB(8), NOCOW_REASON_CHECKSUMS,
		     NOCOW_CHECKSUMS_EXIST);
	assert_range(KIB(16), KIB(16), MIB(64) + KIB(16), NOCOW_REASON_PREALLOC,
		     NOCOW_CHECKSUMS_NONE);
	assert_ends_with(0);
}

/*
 * Preallocated, in a file without the flag for that: direct writes alone go in place, and not even
 * those where there is a second reference or a checksum.
 */
TEST_WITH(test_direct_only, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0,
		  .fe_physical = MIB(20),
		  .fe_length = KIB(4),
		  .fe_flags = UNWRITTEN },
		{ .fe_logical = KIB(4),
		  .fe_physical = MIB(700),
		  .fe_length = KIB(12),
		  .fe_flags = UNWRITTEN | LAST },
	};
	const struct item items[] = {
		item_at(0, MIB(20), 0, KIB(4), BTRFS_FILE_EXTENT_PREALLOC),
		item_at(KIB(4), MIB(700), 0, KIB(12), BTRFS_FILE_EXTENT_PREALLOC),
	};

	start(&cow_file, (struct byte_range){ 0, KIB(16) });
	expect_fiemap(0, KIB(16), 0, FIEMAP_ROOM, extents, ARRAY_SIZE(extents), 0);
	expect_items(0, items, ARRAY_SIZE(items));
	expect_extent(MIB(20), 1, INODE + 1, 0);
	expect_checksums(MIB(20) - CSUM_REACH, MIB(700), 1);
	expect_extent(MIB(700), 1, INODE, KIB(4));
	expect_checksums(MIB(700) + KIB(4), 0, 0);
	assert_range(0, KIB(4), MIB(20), NOCOW_REASON_SHARED, NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(4), KIB(4), MIB(700), NOCOW_REASON_CHECKSUMS, NOCOW_CHECKSUMS_EXIST);
	assert_range(KIB(8), KIB(8), MIB(700) + KIB(4), NOCOW_REASON_DIRECT_ONLY,
		     NOCOW_CHECKSUMS_NONE);
	assert_ends_with(0);
}

/* A compressed extent's bytes have no address to ask about. */
TEST_WITH(test_compressed, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0,
		  .fe_physical = MIB(64),
		  .fe_length = KIB(128),
		  .fe_flags = FIEMAP_EXTENT_ENCODED | LAST },
	};
	struct item item = item_at(0, MIB(64), 0, KIB(128), BTRFS_FILE_EXTENT_REG);
	const struct nocow_file file = file_with(INODE_NODATACOW);

	item.raw.compression = 1;
	start(&file, (struct byte_range){ 0, KIB(128) });
	expect_fiemap(0, KIB(128), 0, FIEMAP_ROOM, extents, 1, 0);
	expect_items(0, &item, 1);
	expect_extent(MIB(64), 1, INODE, 0);
	assert_range(0, KIB(128), MIB(64), NOCOW_REASON_COMPRESSED, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);
}

#define BIT NOCOW_REASON_BIT

/* One file with one extent, which has ITEM and REFS; CSUM_BYTENR is 0 if it is not asked for. */
static uint32_t reasons_of(struct item item, uint32_t fiemap_flags, const struct extent_ref *refs,
			   size_t count, uint64_t csum_bytenr)
{
	const struct fiemap_extent extent = {
		.fe_physical = MIB(64),
		.fe_length = KIB(4),
		.fe_flags = fiemap_flags | LAST,
	};
	const struct nocow_file file = file_with(INODE_NODATACOW);
	struct nocow_range range;

	start(&file, (struct byte_range){ 0, KIB(4) });
	expect_fiemap(0, KIB(4), 0, FIEMAP_ROOM, &extent, 1, 0);
	expect_items(0, &item, 1);
	expect_extent_refs(MIB(64), 1, refs, count);
	if (csum_bytenr)
		expect_checksums(MIB(64) - CSUM_REACH, csum_bytenr, 1);
	assert_int_equal(nocow_iter_next(iter, &range), 1);
	assert_true(range.reasons & BIT(range.reason));
	assert_int_equal(nocow_iter_extent_count(iter), 1);
	assert_ends_with(0);
	return range.reasons;
}

/* Other reasons than a snapshot are reported, and the snapshot itself is not. */
TEST_WITH(test_several_reasons, setup, teardown)
{
	static const struct extent_ref refs[] = {
		{ .root = SUBVOLID, .inode = INODE, .offset = 0 },
		{ .root = SUBVOLID, .inode = INODE + 1, .offset = 0 },
		{ .root = SUBVOLID, .inode = INODE, .offset = KIB(64) },
	};
	struct item item = item_at(0, MIB(64), 0, KIB(4), BTRFS_FILE_EXTENT_REG);

	/* with a checksum, but not here */
	item.raw.generation = htole64(LAST_SNAPSHOT);
	assert_int_equal(reasons_of(item, SHARED, refs, 1, MIB(70)), BIT(NOCOW_REASON_GENERATION));
	assert_int_equal(reasons_of(item, 0, refs, 2, MIB(64)),
			 BIT(NOCOW_REASON_GENERATION) | BIT(NOCOW_REASON_SHARED) |
				 BIT(NOCOW_REASON_CHECKSUMS));
	assert_int_equal(reasons_of(item, 0, &refs[2], 1, MIB(70)),
			 BIT(NOCOW_REASON_GENERATION) | BIT(NOCOW_REASON_SHARED));
	item.raw.compression = 1;
	assert_int_equal(reasons_of(item, 0, refs, 1, 0),
			 BIT(NOCOW_REASON_GENERATION) | BIT(NOCOW_REASON_COMPRESSED));
	item.raw.generation = htole64(LAST_SNAPSHOT + 1);
	assert_int_equal(reasons_of(item, 0, &refs[1], 1, 0),
			 BIT(NOCOW_REASON_COMPRESSED) | BIT(NOCOW_REASON_SHARED));
	assert_int_equal(reasons_of(item, 0, refs, 1, 0), BIT(NOCOW_REASON_COMPRESSED));
}

/* Without privilege FIEMAP reports two. */
TEST_WITH(test_several_flags, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0,
		  .fe_physical = MIB(20),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED | FIEMAP_EXTENT_ENCODED },
		{ .fe_logical = KIB(4),
		  .fe_physical = MIB(30),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED | LAST },
	};
	struct nocow_file file = file_with(INODE_NODATACOW);

	file.searchable = false;
	start(&file, WHOLE_FILE);
	expect_map(extents, ARRAY_SIZE(extents));
	assert_reasons(0, BIT(NOCOW_REASON_COMPRESSED) | BIT(NOCOW_REASON_SHARED));
	assert_reasons(KIB(4), BIT(NOCOW_REASON_SHARED));
}

/* FIEMAP and the items were asked at different times. */
TEST_WITH(test_file_that_changes, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(16), .fe_flags = LAST },
	};
	const struct item items[] = {
		item_at(KIB(4), MIB(30), 0, KIB(4), BTRFS_FILE_EXTENT_REG),
	};
	const struct nocow_file file = file_with(INODE_NODATACOW);

	start(&file, (struct byte_range){ 0, KIB(16) });
	expect_fiemap(0, KIB(16), 0, FIEMAP_ROOM, extents, 1, 0);
	expect_items(0, items, 1);
	expect_extent(MIB(30), 1, INODE, KIB(4));
	expect_checksums(MIB(30) - CSUM_REACH, 0, 0);
	expect_items(KIB(4) + 1, NULL, 0);
	assert_range(0, KIB(4), 0, NOCOW_REASON_UNKNOWN, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(4), KIB(4), MIB(30), NOCOW_REASON_NODATACOW, NOCOW_CHECKSUMS_NONE);
	assert_range(KIB(8), KIB(8), 0, NOCOW_REASON_UNKNOWN, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);
}

/* Without privilege no tree is touched. */
TEST_WITH(test_unsearchable, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0,
		  .fe_physical = MIB(20),
		  .fe_length = KIB(4),
		  .fe_flags = SHARED },
		{ .fe_logical = KIB(4),
		  .fe_physical = MIB(30),
		  .fe_length = MIB(1) - KIB(4),
		  .fe_flags = LAST },
	};
	struct nocow_file file = file_with(INODE_NODATACOW);

	file.searchable = false;
	start(&file, WHOLE_FILE);
	expect_map(extents, ARRAY_SIZE(extents));
	assert_range(0, KIB(4), MIB(20), NOCOW_REASON_SHARED, NOCOW_CHECKSUMS_NOT_ASKED);
	assert_range(KIB(4), MIB(1) - KIB(4), MIB(30), NOCOW_REASON_UNKNOWN,
		     NOCOW_CHECKSUMS_NOT_ASKED);
	assert_ends_with(0);
}

static void expect_checksum_error(uint64_t bytenr, int error)
{
	const struct batch_key key = checksums_from(bytenr);

	expect_batch(&key, NULL, 0, error);
}

/* What decides without them is still known. */
TEST_WITH(test_trees_that_cannot_be_read, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(100), .fe_length = KIB(4), .fe_flags = LAST },
	};
	const struct item items[] = { item_at(0, MIB(100), 0, KIB(4), BTRFS_FILE_EXTENT_REG) };
	const struct nocow_file file = file_with(INODE_NODATACOW);
	static const int errors[] = { ENOENT, EIO, EUCLEAN };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		start(&file, WHOLE_FILE);
		assert_int_equal(nocow_iter_tree_error(iter), 0);
		expect_map(extents, 1);
		expect_items(0, items, 1);
		expect_extent(MIB(100), 1, INODE, 0);
		expect_checksum_error(MIB(100) - CSUM_REACH, errors[i]);
		assert_range(0, KIB(4), MIB(100), NOCOW_REASON_UNKNOWN, NOCOW_CHECKSUMS_NOT_ASKED);
		assert_int_equal(nocow_iter_tree_error(iter), -errors[i]);

		start(&file, WHOLE_FILE);
		expect_map(extents, 1);
		expect_items(0, items, 1);
		expect_extent_error(MIB(100), errors[i]);
		expect_checksums(MIB(100) - CSUM_REACH, MIB(100), 1);
		assert_range(0, KIB(4), MIB(100), NOCOW_REASON_CHECKSUMS, NOCOW_CHECKSUMS_EXIST);
		assert_int_equal(nocow_iter_tree_error(iter), -errors[i]);
	}
	start(&file, WHOLE_FILE);
	expect_map(extents, 1);
	expect_items(0, items, 1);
	expect_extent_error(MIB(100), ENOMEM);
	assert_ends_with(-ENOMEM);
}

TEST_WITH(test_errors, setup, teardown)
{
	static const struct fiemap_extent extents[] = {
		{ .fe_logical = 0, .fe_physical = MIB(20), .fe_length = KIB(4), .fe_flags = LAST },
	};
	const struct search_key items = { 0, INODE, BTRFS_EXTENT_DATA_KEY, 0, UINT64_MAX };
	const struct nocow_file file = file_with(INODE_NODATACOW);

	start(&file, WHOLE_FILE);
	expect_fiemap(0, FIEMAP_MAX_OFFSET, 0, FIEMAP_ROOM, NULL, 0, EIO);
	assert_ends_with(-EIO);
	start(&file, WHOLE_FILE);
	expect_map(extents, 1);
	expect_tree_search(&items, NULL, 0, ENOMEM);
	assert_ends_with(-ENOMEM);
}

TEST(test_sums)
{
	const struct nocow_range ranges[] = {
		{ 0, 10, 0, NOCOW_REASON_PREALLOC, NOCOW_CHECKSUMS_NONE, 0 },
		{ 0, 20, 0, NOCOW_REASON_NODATACOW, NOCOW_CHECKSUMS_NONE, 0 },
		{ 0, 30, 0, NOCOW_REASON_CHECKSUMS, NOCOW_CHECKSUMS_EXIST,
		  NOCOW_REASON_BIT(NOCOW_REASON_CHECKSUMS) },
		{ 0, 40, 0, NOCOW_REASON_HOLE, NOCOW_CHECKSUMS_NOT_ASKED, 0 },
		{ 0, UINT64_MAX, 0, NOCOW_REASON_UNKNOWN, NOCOW_CHECKSUMS_NOT_ASKED, 0 },
	};
	struct nocow_sums sums = { 0 }, twice;

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		nocow_sums_add_range(&sums, &ranges[i]);
	sums.extent_count = 4;
	assert_int_equal(sums.reasons, NOCOW_REASON_BIT(NOCOW_REASON_CHECKSUMS));
	twice = (struct nocow_sums){ .reasons = NOCOW_REASON_BIT(NOCOW_REASON_HOLE) };
	nocow_sums_add(&twice, &sums);
	assert_int_equal(twice.reasons, NOCOW_REASON_BIT(NOCOW_REASON_CHECKSUMS) |
						NOCOW_REASON_BIT(NOCOW_REASON_HOLE));
	nocow_sums_add(&twice, &sums);
	assert_int_equal(twice.extent_count, 8);
	assert_int_equal(twice.counts[NOCOW_REASON_HOLE], 2);
	assert_int_equal(twice.bytes[NOCOW_REASON_HOLE], 80);
	assert_int_equal(twice.csum_bytes, 60);
	assert_int_equal(twice.csum_asked_bytes, 120);
	assert_int_equal(nocow_sums_bytes_of(&sums, NOCOW_IN_PLACE), 30);
	assert_int_equal(nocow_sums_bytes_of(&sums, NOCOW_COPIED), 30);
	assert_int_equal(nocow_sums_bytes_of(&sums, NOCOW_NEW), 40);
	assert_int_equal(nocow_sums_bytes_of(&twice, NOCOW_UNKNOWN), UINT64_MAX);
}
