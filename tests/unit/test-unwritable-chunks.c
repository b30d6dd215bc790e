// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/filesystem.h"
#include "fs/unwritable-chunks.h"
#include "kernel-answers.h"
#include "test.h"

#define STRIPES_MAX 4
#define FSID_TEXT "30313233-3435-3637-3839-616263646566"
#define RAID1 BTRFS_BLOCK_GROUP_RAID1
#define RAID6 BTRFS_BLOCK_GROUP_RAID6

struct chunk_bytes {
	struct btrfs_chunk chunk;
	struct btrfs_stripe more[STRIPES_MAX - 1];
};

static struct chunk_bytes bytes;

/* A chunk of 1 MiB at OFFSET on the devices, which end with a 0. */
static struct tree_item make_chunk(uint64_t offset, uint64_t type, const uint64_t *devices)
{
	struct btrfs_stripe stripes[STRIPES_MAX] = { 0 };
	size_t count = 0;

	for (; devices[count]; count++)
		stripes[count].devid = htole64(devices[count]);
	memset(&bytes, 0, sizeof(bytes));
	bytes.chunk.length = htole64(MIB(1));
	bytes.chunk.type = htole64(BTRFS_BLOCK_GROUP_DATA | type);
	bytes.chunk.num_stripes = htole16(count);
	memcpy((char *)&bytes + offsetof(struct btrfs_chunk, stripe), stripes,
	       count * sizeof(stripes[0]));
	return (struct tree_item){
		.objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID,
		.type = BTRFS_CHUNK_ITEM_KEY,
		.offset = offset,
		.data = &bytes,
		.size = offsetof(struct btrfs_chunk, stripe) + count * sizeof(stripes[0]),
	};
}

static const struct unwritable_device devices[] = {
	{ .id = 1 },
	{ .id = 5, .is_missing = true },
	{ .id = 6, .is_missing = true },
	{ .id = 7, .is_missing = true },
};

static int is_writable(uint64_t type, const uint64_t *stripes)
{
	const struct tree_item item = make_chunk(MIB(1), type, stripes);
	uint64_t length = 99;
	int ret = chunk_is_writable(&item, devices, ARRAY_SIZE(devices), &length);

	assert_int_equal(length, ret < 0 ? 99 : MIB(1));
	return ret;
}

#define WRITABLE(type, ...) is_writable(type, (const uint64_t[]){ __VA_ARGS__, 0 })

TEST(test_chunk)
{
	assert_int_equal(WRITABLE(0, 2), 1);
	assert_int_equal(WRITABLE(0, 1), 0);
	assert_int_equal(WRITABLE(0, 5), 0);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID0, 2, 3), 1);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID0, 2, 1), 0);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID0, 2, 5), 0);
	/* one that is missing is tolerated, one that is read-only is not */
	assert_int_equal(WRITABLE(RAID1, 2, 5), 1);
	assert_int_equal(WRITABLE(RAID1, 2, 1), 0);
	assert_int_equal(WRITABLE(RAID1, 5, 6), 0);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID10, 2, 3, 4, 6), 1);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID10, 2, 3, 5, 6), 0);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID5, 2, 3, 5), 1);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID5, 2, 6, 5), 0);
	assert_int_equal(WRITABLE(RAID6, 2, 3, 5, 6), 1);
	assert_int_equal(WRITABLE(RAID6, 2, 7, 5, 6), 0);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID1C3, 2, 5, 6), 1);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID1C3, 7, 5, 6), 0);
	assert_int_equal(WRITABLE(BTRFS_BLOCK_GROUP_RAID1C4, 2, 5, 6, 7), 1);
}

TEST(test_broken_chunk)
{
	const uint64_t stripes[] = { 2, 3, 0 };
	struct tree_item item = make_chunk(MIB(1), RAID1, stripes);
	uint64_t length = 99;

	while (item.size--)
		assert_int_equal(chunk_is_writable(&item, NULL, 0, &length), -EPROTO);
	item = make_chunk(UINT64_MAX - MIB(1) + 1, RAID1, stripes);
	assert_int_equal(chunk_is_writable(&item, NULL, 0, &length), -EPROTO);
	item = make_chunk(MIB(1), RAID1, stripes);
	bytes.chunk.num_stripes = UINT16_MAX;
	assert_int_equal(chunk_is_writable(&item, NULL, 0, &length), -EPROTO);
	assert_int_equal(length, 99);
}

/* -- a file system -- */

static char root[] = "/tmp/test-unwritable-chunks.XXXXXX";
static struct unwritable_chunks *chunks;

int __wrap_filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE]);

int __wrap_filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE])
{
	(void)fd;
	memcpy(ret_fsid, "0123456789abcdef", FSID_SIZE);
	return 0;
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
	char command[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	if (ioctl_mock_setup(state))
		return -1;
	chunks = NULL;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	run("rm -r %s", root);
	unwritable_chunks_free(chunks);
	return ioctl_mock_teardown(state);
}

static void put_device(const char *id, const char *writable, const char *missing)
{
	run("d=%s/" FSID_TEXT
	    "/devinfo/%s; mkdir -p $d; echo %s >$d/writeable; echo %s >$d/missing",
	    root, id, writable, missing);
}

static int find(void)
{
	return unwritable_chunks_find(root, MOCK_FD, &chunks);
}

static const struct search_key key = { BTRFS_CHUNK_TREE_OBJECTID, BTRFS_FIRST_CHUNK_TREE_OBJECTID,
				       BTRFS_CHUNK_ITEM_KEY, 0, UINT64_MAX };

/* No tree is read where all devices are writable, or unknown. */
TEST_WITH(test_nothing_unwritable, setup, teardown)
{
	assert_int_equal(find(), 0);
	unwritable_chunks_free(chunks);
	put_device("1", "1", "0");
	run("touch %s/" FSID_TEXT "/devinfo/other", root);
	assert_int_equal(find(), 0);
	assert_false(unwritable_chunks_contain(chunks, 0));
	assert_false(unwritable_chunks_contain(NULL, 0));
}

/* A read-only block device, or a seed before a device was added: all may be writable later. */
TEST_WITH(test_nothing_writable, setup, teardown)
{
	put_device("1", "0", "0");
	put_device("2", "0", "1");
	assert_int_equal(find(), 0);
	assert_false(unwritable_chunks_contain(chunks, 0));
}

TEST_WITH(test_ranges, setup, teardown)
{
	static const uint64_t seed[] = { 1, 0 }, other[] = { 2, 0 };
	const uint64_t offsets[] = { MIB(1), MIB(2), MIB(3), MIB(8) };
	struct tree_item items[ARRAY_SIZE(offsets)];
	struct chunk_bytes copies[ARRAY_SIZE(offsets)];
	const struct search_key rest = { key.tree, key.objectid, key.type, MIB(8) + 1, UINT64_MAX };

	put_device("1", "0", "0");
	put_device("2", "1", "0");
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		items[i] = make_chunk(offsets[i], 0, i == 2 ? other : seed);
		copies[i] = bytes;
		items[i].data = &copies[i];
	}
	expect_tree_search(&key, items, ARRAY_SIZE(items), 0);
	expect_tree_search(&rest, NULL, 0, 0);
	assert_int_equal(find(), 0);
	assert_false(unwritable_chunks_contain(chunks, MIB(1) - 1));
	assert_true(unwritable_chunks_contain(chunks, MIB(1)));
	assert_true(unwritable_chunks_contain(chunks, MIB(3) - 1));
	assert_false(unwritable_chunks_contain(chunks, MIB(3)));
	assert_false(unwritable_chunks_contain(chunks, MIB(8) - 1));
	assert_true(unwritable_chunks_contain(chunks, MIB(8)));
	assert_false(unwritable_chunks_contain(chunks, MIB(9)));
	assert_false(unwritable_chunks_contain(chunks, UINT64_MAX));
}

TEST_WITH(test_errors, setup, teardown)
{
	put_device("1", "0", "1");
	put_device("2", "1", "0");
	expect_tree_search(&key, NULL, 0, EPERM);
	assert_int_equal(find(), -EPERM);
	put_device("1", "yes", "0");
	assert_int_equal(find(), -EPROTO);
	/* a device that is being removed */
	run("rm %s/" FSID_TEXT "/devinfo/1/*", root);
	assert_null(chunks);
	assert_int_equal(find(), 0);
}
