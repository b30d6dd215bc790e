// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/chunk-list.h"
#include "kernel-answers.h"
#include "test.h"

static struct btrfs_chunk bytes;

/* A chunk of 1 MiB. */
static struct tree_item make_chunk(uint64_t bytenr, uint64_t type, uint64_t device_id)
{
	bytes = (struct btrfs_chunk){
		.length = htole64(MIB(1)),
		.type = htole64(type),
		.num_stripes = htole16(1),
		.stripe.devid = htole64(device_id),
	};
	return (struct tree_item){
		.objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID,
		.type = BTRFS_CHUNK_ITEM_KEY,
		.offset = bytenr,
		.data = &bytes,
		.size = sizeof(bytes),
	};
}

TEST(test_parse)
{
	struct tree_item item = make_chunk(MIB(5), BTRFS_BLOCK_GROUP_DATA, 7);
	struct chunk chunk;

	assert_int_equal(chunk_parse(&item, &chunk), 0);
	assert_int_equal(chunk.bytenr, MIB(5));
	assert_int_equal(chunk.length, MIB(1));
	assert_int_equal(chunk.type, BTRFS_BLOCK_GROUP_DATA);
	assert_int_equal(chunk.device_id, 7);
}

TEST(test_broken_chunk)
{
	struct tree_item item = make_chunk(MIB(5), BTRFS_BLOCK_GROUP_DATA, 7);
	struct chunk chunk = { .length = 99 };

	while (item.size--)
		assert_int_equal(chunk_parse(&item, &chunk), -EPROTO);
	item = make_chunk(UINT64_MAX - MIB(1) + 1, BTRFS_BLOCK_GROUP_DATA, 7);
	assert_int_equal(chunk_parse(&item, &chunk), -EPROTO);
	assert_int_equal(chunk.length, 99);
}
