// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/filesystem.h"
#include "ioctl-mock.h"
#include "test.h"

#define SPACES_MAX 64
#define DATA BTRFS_BLOCK_GROUP_DATA

static void expect_spaces(const struct btrfs_ioctl_space_info *spaces, size_t count, uint64_t total,
			  int error)
{
	const struct btrfs_ioctl_space_args asked = { .space_slots = SPACES_MAX };
	struct {
		struct btrfs_ioctl_space_args arguments;
		struct btrfs_ioctl_space_info spaces[4];
	} answer = { .arguments.space_slots = SPACES_MAX, .arguments.total_spaces = total };

	assert_true(count <= ARRAY_SIZE(answer.spaces));
	memcpy(answer.spaces, spaces, count * sizeof(*spaces));
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_SPACE_INFO,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer.arguments) + count * sizeof(*spaces),
	});
}

static void assert_copies(const struct btrfs_ioctl_space_info *spaces, size_t count,
			  unsigned int expected)
{
	unsigned int copies = 99;

	expect_spaces(spaces, count, count, 0);
	assert_int_equal(data_copies_of(MOCK_FD, &copies), 0);
	assert_int_equal(copies, expected);
}

TEST_WITH(test_profiles, ioctl_mock_setup, ioctl_mock_teardown)
{
	static const struct {
		uint64_t profile;
		unsigned int copies;
	} profiles[] = {
		{ 0, 1 },
		{ BTRFS_BLOCK_GROUP_RAID0, 1 },
		{ BTRFS_BLOCK_GROUP_DUP, 2 },
		{ BTRFS_BLOCK_GROUP_RAID1, 2 },
		{ BTRFS_BLOCK_GROUP_RAID10, 2 },
		{ BTRFS_BLOCK_GROUP_RAID1C3, 3 },
		{ BTRFS_BLOCK_GROUP_RAID1C4, 4 },
		{ BTRFS_BLOCK_GROUP_RAID5, 0 },
		{ BTRFS_BLOCK_GROUP_RAID6, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		const struct btrfs_ioctl_space_info spaces[] = {
			{ BTRFS_BLOCK_GROUP_METADATA | BTRFS_BLOCK_GROUP_RAID1C4, MIB(1), 1 },
			{ DATA | profiles[i].profile, MIB(1), 1 },
		};

		assert_copies(spaces, ARRAY_SIZE(spaces), profiles[i].copies);
	}
}

TEST_WITH(test_several_profiles, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct btrfs_ioctl_space_info spaces[] = {
		{ DATA, MIB(1), 1 },
		{ DATA | BTRFS_BLOCK_GROUP_DUP, MIB(1), 1 },
		{ DATA | BTRFS_BLOCK_GROUP_RAID0, MIB(1), 1 },
	};

	assert_copies(spaces, 3, 0);
	/* as many copies by another profile */
	spaces[1].flags = DATA | BTRFS_BLOCK_GROUP_RAID0;
	assert_copies(spaces, 2, 1);
	/* what an unfinished balance left empty */
	spaces[1] = (struct btrfs_ioctl_space_info){ DATA | BTRFS_BLOCK_GROUP_DUP, MIB(1), 0 };
	assert_copies(spaces, 2, 1);
	assert_copies(spaces, 0, 0);
}

TEST_WITH(test_failures, ioctl_mock_setup, ioctl_mock_teardown)
{
	const struct btrfs_ioctl_space_info space = { DATA, MIB(1), 1 };
	unsigned int copies = 99;

	expect_spaces(&space, 1, SPACES_MAX + 1, 0);
	assert_int_equal(data_copies_of(MOCK_FD, &copies), -EPROTO);
	expect_spaces(&space, 1, 1, ENOTTY);
	assert_int_equal(data_copies_of(MOCK_FD, &copies), -ENOTTY);
	assert_int_equal(copies, 99);
}
