// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include <btrfs/ioctl.h>

#include "fs/checksum-format.h"
#include "ioctl-mock.h"
#include "test.h"

#define SECTOR 4096

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

TEST(test_format)
{
	struct checksum_format format;
	struct info info = usual;

	info.csum_size = 32;
	assert_int_equal(checksum_format_parse(&info, sizeof(info), &format), 0);
	assert_int_equal(format.sector_size, SECTOR);
	assert_int_equal(format.node_size, 16384);
	assert_int_equal(format.size, 32);
	/* a kernel that does not tell */
	info.flags = 0;
	assert_int_equal(checksum_format_parse(&info, sizeof(info), &format), 0);
	assert_int_equal(format.size, 4);
}

TEST(test_impossible_formats)
{
	static const struct {
		uint32_t node;
		uint32_t sector;
		uint16_t size;
	} cases[] = {
		{ 0, 4096, 4 },	    { 16384, 0, 4 },	{ 16384, 4096, 0 },  { 16384, 4096, 33 },
		{ 16384, 4097, 4 }, { 16383, 4096, 4 }, { 131072, 4096, 4 }, { 4096, 8192, 4 },
	};
	struct checksum_format format = { .size = 99 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct info info = usual;

		info.nodesize = cases[i].node;
		info.sectorsize = cases[i].sector;
		info.csum_size = cases[i].size;
		assert_int_equal(checksum_format_parse(&info, sizeof(info), &format), -EPROTO);
	}
	assert_int_equal(checksum_format_parse(&usual, sizeof(usual) - 1, &format), -EPROTO);
	assert_int_equal(format.size, 99);
}

/* The size of the checksum is asked for. */
TEST_WITH(test_ask, ioctl_mock_setup, ioctl_mock_teardown)
{
	struct {
		struct info info;
		char rest[1024 - sizeof(struct info)];
	} answer = { .info = usual };
	const struct info asked = { .flags = 1 };
	struct ioctl_call call = {
		.request = BTRFS_IOC_FS_INFO,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.answer = &answer,
		.answer_size = sizeof(answer),
	};
	struct checksum_format format;

	answer.info.csum_size = 8;
	ioctl_mock_expect(&call);
	assert_int_equal(checksum_format_of(MOCK_FD, &format), 0);
	assert_int_equal(format.size, 8);
	call.error = ENOTTY;
	ioctl_mock_expect(&call);
	assert_int_equal(checksum_format_of(MOCK_FD, &format), -ENOTTY);
}
