// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/file-extent.h"
#include "kernel-answers.h"
#include "test.h"

#define INODE 257
#define LEAF_GENERATION 33

/* Where inline data begins in an item. */
#define INLINE_START offsetof(struct btrfs_file_extent_item, disk_bytenr)

static struct btrfs_file_extent_item regular(uint64_t bytenr, uint64_t extent_offset,
					     uint64_t length)
{
	return (struct btrfs_file_extent_item){
		.generation = htole64(21),
		.ram_bytes = htole64(length),
		.type = BTRFS_FILE_EXTENT_REG,
		.disk_bytenr = htole64(bytenr),
		.disk_num_bytes = htole64(length),
		.offset = htole64(extent_offset),
		.num_bytes = htole64(length),
	};
}

static struct tree_item item_at(uint64_t offset, const struct btrfs_file_extent_item *raw)
{
	return (struct tree_item){
		.objectid = INODE,
		.type = BTRFS_EXTENT_DATA_KEY,
		.offset = offset,
		.leaf_generation = LEAF_GENERATION,
		.data = raw,
		.size = sizeof(*raw),
	};
}

TEST(test_parse_regular)
{
	struct btrfs_file_extent_item raw = regular(MIB(5), KIB(4), KIB(8));
	const struct tree_item item = item_at(MIB(1), &raw);
	struct file_extent extent;

	raw.ram_bytes = htole64(MIB(2));
	raw.disk_num_bytes = htole64(MIB(3));
	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_int_equal(extent.offset, MIB(1));
	assert_int_equal(extent.length, KIB(8));
	assert_int_equal(extent.disk_bytenr, MIB(5));
	assert_int_equal(extent.disk_bytes, MIB(3));
	assert_int_equal(extent.extent_offset, KIB(4));
	assert_int_equal(extent.generation, 21);
	assert_int_equal(extent.leaf_generation, LEAF_GENERATION);
	assert_false(extent.is_inline);
	assert_false(extent.is_prealloc);
	assert_false(extent.is_compressed);
	assert_false(extent.is_encoded);
}

TEST(test_parse_prealloc)
{
	struct btrfs_file_extent_item raw = regular(MIB(5), 0, KIB(8));
	const struct tree_item item = item_at(0, &raw);
	struct file_extent extent;

	raw.type = BTRFS_FILE_EXTENT_PREALLOC;
	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_true(extent.is_prealloc);
	assert_false(extent.is_inline);
	assert_int_equal(extent.disk_bytenr, MIB(5));
	assert_int_equal(extent.length, KIB(8));
}

TEST(test_parse_compressed)
{
	struct btrfs_file_extent_item raw = regular(MIB(5), 0, KIB(128));
	const struct tree_item item = item_at(0, &raw);
	struct file_extent extent;

	for (unsigned int compression = 1; compression <= 3; compression++) {
		raw.compression = compression;
		assert_int_equal(file_extent_parse(&item, &extent), 0);
		assert_true(extent.is_compressed);
	}
}

TEST(test_parse_encoded)
{
	struct btrfs_file_extent_item raw = regular(MIB(5), 0, KIB(8));
	const struct tree_item item = item_at(0, &raw);
	struct file_extent extent;

	raw.encryption = 1;
	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_true(extent.is_encoded);
	assert_false(extent.is_compressed);
	raw.encryption = 0;
	raw.other_encoding = htole16(1);
	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_true(extent.is_encoded);
}

TEST(test_parse_hole)
{
	const struct btrfs_file_extent_item raw = regular(0, 0, KIB(8));
	const struct tree_item item = item_at(KIB(4), &raw);
	struct file_extent extent;

	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_int_equal(extent.disk_bytenr, 0);
	assert_int_equal(extent.length, KIB(8));
}

/* The data of an inline item lies where others have their address. */
TEST(test_parse_inline)
{
	struct btrfs_file_extent_item raw = { .type = BTRFS_FILE_EXTENT_INLINE };
	struct tree_item item = item_at(0, &raw);
	struct file_extent extent;

	raw.generation = htole64(21);
	raw.ram_bytes = htole64(5);
	memcpy((char *)&raw + INLINE_START, "12345", 5);
	item.size = INLINE_START + 5;
	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_true(extent.is_inline);
	assert_int_equal(extent.length, 5);
	assert_int_equal(extent.disk_bytes, 5);
	assert_int_equal(extent.generation, 21);
	assert_int_equal(extent.disk_bytenr, 0);
	assert_int_equal(extent.extent_offset, 0);

	/* longer than any other item */
	raw.compression = 1;
	raw.ram_bytes = htole64(2048);
	item.size = sizeof(raw);
	assert_int_equal(file_extent_parse(&item, &extent), 0);
	assert_true(extent.is_compressed);
	assert_int_equal(extent.length, 2048);
}

/* What an image can say that somebody made. */
TEST(test_parse_nonsense)
{
	const struct btrfs_file_extent_item good = regular(MIB(5), KIB(4), KIB(8));
	struct btrfs_file_extent_item raw[7];
	struct file_extent extent;

	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		raw[i] = good;
		raw[i].disk_num_bytes = htole64(KIB(12));
	}
	raw[0].disk_num_bytes = htole64(MIB(256) + KIB(4));
	raw[1].num_bytes = htole64(KIB(12));
	raw[2].offset = htole64(KIB(8));
	raw[3].offset = htole64(UINT64_MAX - KIB(4));
	raw[4].generation = htole64(LEAF_GENERATION + 1);
	raw[5].compression = 1;
	raw[5].ram_bytes = htole64(KIB(8));
	raw[6].compression = 1;
	raw[6].ram_bytes = htole64(MIB(256) + KIB(4));
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		const struct tree_item item = item_at(0, &raw[i]);

		assert_int_equal(file_extent_parse(&item, &extent), -EPROTO);
	}
}

TEST(test_parse_unknown_type)
{
	struct btrfs_file_extent_item raw = regular(MIB(5), 0, KIB(8));
	const struct tree_item item = item_at(0, &raw);

	for (unsigned int type = BTRFS_FILE_EXTENT_PREALLOC + 1; type <= UINT8_MAX; type++) {
		struct file_extent extent = { .offset = 99 };

		raw.type = type;
		assert_int_equal(file_extent_parse(&item, &extent), -EPROTO);
		assert_int_equal(extent.offset, 99);
	}
}

TEST(test_parse_truncated)
{
	static const uint8_t types[] = {
		BTRFS_FILE_EXTENT_INLINE,
		BTRFS_FILE_EXTENT_REG,
		BTRFS_FILE_EXTENT_PREALLOC,
	};
	struct btrfs_file_extent_item raw = regular(MIB(5), 0, KIB(8));

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const size_t needed = types[i] == BTRFS_FILE_EXTENT_INLINE ? INLINE_START :
									     sizeof(raw);

		raw.type = types[i];
		for (size_t size = 0; size <= sizeof(raw); size++) {
			/* of that size, so that a sanitizer sees a byte too much */
			char *data = malloc(size + !size);
			struct tree_item item = item_at(0, &raw);
			struct file_extent extent;

			assert_non_null(data);
			memcpy(data, &raw, size);
			item.data = data;
			item.size = size;
			assert_int_equal(file_extent_parse(&item, &extent),
					 size < needed ? -EPROTO : 0);
			free(data);
		}
	}
}

TEST(test_parse_overflow)
{
	struct btrfs_file_extent_item raw = regular(MIB(5), 0, KIB(4));
	struct tree_item item = item_at(UINT64_MAX - KIB(4), &raw);
	struct file_extent extent;

	assert_int_equal(file_extent_parse(&item, &extent), 0);
	item.offset++;
	assert_int_equal(file_extent_parse(&item, &extent), -EPROTO);
	raw.type = BTRFS_FILE_EXTENT_INLINE;
	assert_int_equal(file_extent_parse(&item, &extent), -EPROTO);
}

static struct file_extent_iter *iter;

static int teardown(void **state)
{
	file_extent_iter_free(iter);
	iter = NULL;
	return ioctl_mock_teardown(state);
}

static struct search_key key_from(uint64_t min_offset)
{
	return (struct search_key){
		.objectid = INODE,
		.type = BTRFS_EXTENT_DATA_KEY,
		.min_offset = min_offset,
		.max_offset = UINT64_MAX,
	};
}

/* The file: [0, 16) KiB, [16, 32) KiB, a gap, [64, 68) KiB. */
static void start_with_three_items(void)
{
	const struct search_key key = key_from(0), behind = key_from(KIB(64) + 1);
	const struct btrfs_file_extent_item raw[] = {
		regular(MIB(1), 0, KIB(16)),
		regular(MIB(2), 0, KIB(16)),
		regular(MIB(3), 0, KIB(4)),
	};
	const struct tree_item items[] = {
		item_at(0, &raw[0]),
		item_at(KIB(16), &raw[1]),
		item_at(KIB(64), &raw[2]),
	};

	expect_tree_search(&key, items, 3, 0);
	expect_tree_search(&behind, NULL, 0, 0);
	assert_int_equal(file_extent_iter_new(&iter, MOCK_FD, INODE, 0), 0);
}

static void assert_next(uint64_t offset, uint64_t end, uint64_t bytenr)
{
	struct file_extent extent;

	assert_int_equal(file_extent_iter_next(iter, offset, end, &extent), 1);
	assert_int_equal(extent.disk_bytenr, bytenr);
}

static void assert_ends_with(uint64_t offset, uint64_t end, int ret)
{
	struct file_extent extent = { .offset = 99 };

	assert_int_equal(file_extent_iter_next(iter, offset, end, &extent), ret);
	assert_int_equal(extent.offset, 99);
}

TEST_WITH(test_iterator_whole_file, ioctl_mock_setup, teardown)
{
	start_with_three_items();
	assert_next(0, UINT64_MAX, MIB(1));
	assert_next(0, UINT64_MAX, MIB(2));
	assert_next(0, UINT64_MAX, MIB(3));
	assert_ends_with(0, UINT64_MAX, 0);
}

TEST_WITH(test_iterator_one_range_with_several_items, ioctl_mock_setup, teardown)
{
	start_with_three_items();
	assert_next(KIB(8), KIB(24), MIB(1));
	assert_next(KIB(8), KIB(24), MIB(2));
	assert_ends_with(KIB(8), KIB(24), 0);
	assert_next(KIB(64), KIB(68), MIB(3));
	assert_ends_with(KIB(64), KIB(68), 0);
	assert_ends_with(KIB(68), KIB(72), 0);
}

TEST_WITH(test_iterator_item_that_spans_ranges, ioctl_mock_setup, teardown)
{
	start_with_three_items();
	assert_next(0, KIB(4), MIB(1));
	assert_ends_with(0, KIB(4), 0);
	assert_next(KIB(4), KIB(8), MIB(1));
	assert_ends_with(KIB(4), KIB(8), 0);
	/* a range that ends where the item ends */
	assert_next(KIB(8), KIB(16), MIB(1));
	assert_ends_with(KIB(8), KIB(16), 0);
	assert_next(KIB(16), KIB(64), MIB(2));
	assert_ends_with(KIB(16), KIB(64), 0);
	assert_next(KIB(64), KIB(65), MIB(3));
	assert_ends_with(KIB(64), KIB(65), 0);
	assert_ends_with(KIB(68), KIB(69), 0);
}

TEST_WITH(test_iterator_range_in_a_gap, ioctl_mock_setup, teardown)
{
	start_with_three_items();
	assert_ends_with(KIB(32), KIB(64), 0);
	assert_ends_with(KIB(40), KIB(60), 0);
	assert_next(KIB(60), KIB(128), MIB(3));
	assert_ends_with(KIB(60), KIB(128), 0);
}

/* Where an earlier item may reach into the file's part, the search begins with it. */
TEST_WITH(test_iterator_search_starts_early_enough, ioctl_mock_setup, teardown)
{
	static const struct {
		uint64_t start;
		uint64_t searched_from;
	} cases[] = {
		{ 0, 0 },
		{ MIB(256), 0 },
		{ MIB(256) + 1, 1 },
		{ MIB(1024), MIB(768) },
		{ UINT64_MAX, UINT64_MAX - MIB(256) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct search_key key = key_from(cases[i].searched_from);

		expect_tree_search(&key, NULL, 0, 0);
		assert_int_equal(file_extent_iter_new(&iter, MOCK_FD, INODE, cases[i].start), 0);
		assert_ends_with(cases[i].start, UINT64_MAX, 0);
		file_extent_iter_free(iter);
		iter = NULL;
	}
}

TEST_WITH(test_iterator_passes_over_items_before_the_start, ioctl_mock_setup, teardown)
{
	const struct search_key key = key_from(MIB(44));
	const struct btrfs_file_extent_item raw[] = {
		regular(MIB(1), 0, MIB(100)),
		regular(MIB(2), 0, MIB(255)),
	};
	const struct tree_item items[] = { item_at(MIB(44), &raw[0]), item_at(MIB(144), &raw[1]) };

	expect_tree_search(&key, items, 2, 0);
	assert_int_equal(file_extent_iter_new(&iter, MOCK_FD, INODE, MIB(300)), 0);
	assert_next(MIB(300), MIB(301), MIB(2));
	assert_ends_with(MIB(300), MIB(301), 0);
}

TEST_WITH(test_iterator_errors, ioctl_mock_setup, teardown)
{
	static const int errors[] = { EPERM, ENOTTY, EIO };
	const struct search_key key = key_from(0);

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		expect_tree_search(&key, NULL, 0, errors[i]);
		assert_int_equal(file_extent_iter_new(&iter, MOCK_FD, INODE, 0), 0);
		assert_ends_with(0, UINT64_MAX, -errors[i]);
		file_extent_iter_free(iter);
		iter = NULL;
	}
}

TEST_WITH(test_iterator_broken_item, ioctl_mock_setup, teardown)
{
	const struct search_key key = key_from(0);
	struct btrfs_file_extent_item raw = regular(MIB(1), 0, KIB(4));
	const struct tree_item item = item_at(0, &raw);

	raw.type = 77;
	expect_tree_search(&key, &item, 1, 0);
	assert_int_equal(file_extent_iter_new(&iter, MOCK_FD, INODE, 0), 0);
	assert_ends_with(0, UINT64_MAX, -EPROTO);
}
