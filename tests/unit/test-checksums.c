// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "nocow/checksums.h"
#include "test.h"

#define ROOM 4096
#define SECTOR 4096ULL
/* 16 KiB of checksums of 4 bytes */
#define REACH (4096 * SECTOR)

/* As linux/btrfs.h has it since 5.10. */
struct info {
	uint64_t max_id;
	uint64_t num_devices;
	uint8_t fsid[16];
	uint32_t nodesize;
	uint32_t sectorsize;
	uint32_t clone_alignment;
	uint16_t csum_type;
	uint16_t csum_size;
	uint64_t flags;
};

static const struct info usual = {
	.nodesize = 16384,
	.sectorsize = SECTOR,
	.csum_size = 4,
	.flags = 1,
};

static struct checksum_search *search;

static void expect_info(const struct info *info, int error)
{
	struct {
		struct info info;
		char rest[1024 - sizeof(struct info)];
	} answer = { .info = *info };
	/* the kernel is asked for the checksum's size */
	const struct info asked = { .flags = 1 };

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

static int setup(void **state)
{
	if (ioctl_mock_setup(state) || checksum_search_new(&search))
		return -1;
	expect_info(&usual, 0);
	return checksum_search_start(search, MOCK_FD);
}

static int teardown(void **state)
{
	checksum_search_free(search);
	return ioctl_mock_teardown(state);
}

static struct batch_key key_from(uint64_t bytenr)
{
	return (struct batch_key){
		BTRFS_CSUM_TREE_OBJECTID,
		{ BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, bytenr },
		{ BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, UINT64_MAX },
		UINT32_MAX,
		ROOM,
	};
}

/* The item of so many sectors' checksums, which nobody reads. */
static struct tree_item item_at(uint64_t bytenr, uint32_t sectors)
{
	static const char checksums[1024];

	return (struct tree_item){
		.objectid = BTRFS_EXTENT_CSUM_OBJECTID,
		.type = BTRFS_EXTENT_CSUM_KEY,
		.offset = bytenr,
		.data = checksums,
		.size = 4 * sectors,
	};
}

static void expect_items(uint64_t bytenr, const struct tree_item *items, uint32_t count)
{
	const struct batch_key key = key_from(bytenr);

	expect_batch(&key, items, count, 0);
}

static void assert_part(uint64_t offset, uint64_t length, uint64_t part_offset,
			uint64_t part_length)
{
	const struct byte_range range = { offset, length };
	struct byte_range part;

	assert_int_equal(checksum_search_find(search, range, &part), 1);
	assert_int_equal(part.offset, part_offset);
	assert_int_equal(part.length, part_length);
}

static void assert_none(uint64_t offset, uint64_t length)
{
	const struct byte_range range = { offset, length };
	struct byte_range part = { 99, 99 };

	assert_int_equal(checksum_search_find(search, range, &part), 0);
	assert_int_equal(part.offset, 99);
	assert_int_equal(part.length, 99);
}

/* One call tells that there are none, and of the neighbours too, however far they are. */
TEST_WITH(test_no_checksums, setup, teardown)
{
	expect_items(MIB(100) - REACH, NULL, 0);
	assert_none(MIB(100), MIB(128));
	assert_none(MIB(300), MIB(128));
	assert_none(MIB(100000), MIB(128));
}

TEST_WITH(test_first_item_on_disk, setup, teardown)
{
	const struct tree_item item = item_at(0, 1);

	expect_items(0, &item, 1);
	assert_part(0, SECTOR, 0, SECTOR);
}

/* Every way in which an item can lie to a range. */
TEST_WITH(test_overlaps, setup, teardown)
{
	const struct tree_item item = item_at(MIB(50), 4);
	const uint64_t start = MIB(50), end = MIB(50) + 4 * SECTOR;

	expect_items(MIB(49) - REACH, &item, 1);
	assert_none(MIB(49), MIB(1));
	assert_part(MIB(49), MIB(1) + 1, start, 1);
	assert_part(MIB(49), MIB(2), start, 4 * SECTOR);
	assert_part(start, MIB(1), start, 4 * SECTOR);
	assert_part(start + SECTOR, SECTOR, start + SECTOR, SECTOR);
	assert_part(end - 1, MIB(1), end - 1, 1);
	expect_items(end, NULL, 0);
	assert_none(end, MIB(1));
}

/* Items that begin up to a node's worth of checksums before a range can reach it. */
TEST_WITH(test_item_that_begins_before, setup, teardown)
{
	const struct tree_item items[] = { item_at(MIB(100) - REACH + SECTOR, 4096) };
	const struct batch_key key = key_from(MIB(100) - REACH);

	expect_oversize_batch(&key, items);
	assert_part(MIB(100), MIB(1), MIB(100), SECTOR);
}

/* Items that end before the range are stepped over. */
TEST_WITH(test_items_before, setup, teardown)
{
	const struct tree_item items[] = {
		item_at(MIB(90), 1),
		item_at(MIB(91), 256),
		item_at(MIB(99), 200),
		item_at(MIB(110), 1),
	};

	expect_items(MIB(100) - REACH, items, ARRAY_SIZE(items));
	assert_none(MIB(100), MIB(10));
	assert_part(MIB(110), MIB(1), MIB(110), SECTOR);
}

/* Where one item follows the other, each is a part of its own; large ones come one at a time. */
TEST_WITH(test_parts, setup, teardown)
{
	const struct tree_item first = item_at(MIB(64), 2048);
	const struct tree_item second = item_at(MIB(72), 2048);
	const struct batch_key from_start = key_from(MIB(64) - REACH);
	const struct batch_key from_second = key_from(MIB(72));

	expect_oversize_batch(&from_start, &first);
	expect_oversize_batch(&from_second, &second);
	expect_items(MIB(80), NULL, 0);
	assert_part(MIB(64), MIB(20), MIB(64), MIB(8));
	assert_part(MIB(72), MIB(12), MIB(72), MIB(8));
	assert_none(MIB(80), MIB(4));
}

/* What lies before the last question is asked for again. */
TEST_WITH(test_backwards, setup, teardown)
{
	const struct tree_item item = item_at(MIB(70), 1);

	expect_items(MIB(100) - REACH, NULL, 0);
	expect_items(MIB(64) - REACH, &item, 1);
	assert_none(MIB(100), MIB(1));
	assert_none(MIB(64), MIB(1));
	assert_part(MIB(70), MIB(1), MIB(70), SECTOR);
}

/* A jump does not read what lies between. */
TEST_WITH(test_jump, setup, teardown)
{
	const struct tree_item here = item_at(MIB(64), 1);
	const struct tree_item there = item_at(MIB(1064), 1);

	expect_items(MIB(64) - REACH, &here, 1);
	expect_items(MIB(1064) - REACH, &there, 1);
	assert_part(MIB(64), MIB(1), MIB(64), SECTOR);
	assert_part(MIB(1064), MIB(1), MIB(1064), SECTOR);
}

static void assert_fails(int expected)
{
	const struct byte_range range = { MIB(100), MIB(1) };
	struct byte_range part = { 99, 99 };

	assert_int_equal(checksum_search_find(search, range, &part), expected);
	assert_int_equal(part.offset, 99);
}

TEST_WITH(test_errors, setup, teardown)
{
	const struct batch_key key = key_from(MIB(100) - REACH);

	expect_batch(&key, NULL, 0, EPERM);
	assert_fails(-EPERM);
	/* not remembered as none */
	expect_batch(&key, NULL, 0, EIO);
	assert_fails(-EIO);
}

TEST_WITH(test_broken_items, setup, teardown)
{
	const struct batch_key key = key_from(MIB(100) - REACH);
	const struct tree_item too_long = item_at(MIB(100), 4097);
	struct tree_item items[] = { item_at(MIB(100), 0), item_at(MIB(100), 2) };

	items[1].size = 7;
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		expect_batch(&key, &items[i], 1, 0);
		assert_fails(-EPROTO);
	}
	expect_oversize_batch(&key, &too_long);
	assert_fails(-EPROTO);
	items[0] = item_at(UINT64_MAX, 1);
	expect_batch(&key, items, 1, 0);
	assert_fails(-EPROTO);
}

TEST_WITH(test_start_errors, setup, teardown)
{
	struct info info = usual;

	expect_info(&usual, ENOTTY);
	assert_int_equal(checksum_search_start(search, MOCK_FD), -ENOTTY);
	info.sectorsize = 0;
	expect_info(&info, 0);
	assert_int_equal(checksum_search_start(search, MOCK_FD), -EPROTO);
}
