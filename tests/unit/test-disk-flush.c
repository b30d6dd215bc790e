// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>

#include "fsync/disk-flush.h"
#include "kernel-answers.h"
#include "test.h"

static void expect_fs_info(uint64_t max_id, uint64_t num_devices)
{
	const struct btrfs_ioctl_fs_info_args info = { .max_id = max_id,
						       .num_devices = num_devices };

	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO, .answer = &info, .answer_size = sizeof(info) });
}

static void expect_device(uint64_t id, const char *path, int error)
{
	struct btrfs_ioctl_dev_info_args device = { .devid = id };

	strcpy((char *)device.path, path);
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_DEV_INFO,
		.expected = &device,
		.expected_size = sizeof(device.devid),
		.error = error,
		.answer = &device,
		.answer_size = sizeof(device),
	});
}

static int new_error(void)
{
	struct disk_flush *flush = NULL;
	int ret = disk_flush_new(&flush, MOCK_FD, 4096);

	assert_null(flush);
	return ret;
}

TEST_WITH(test_devices, ioctl_mock_setup, ioctl_mock_teardown)
{
	/* the first one was removed */
	expect_fs_info(2, 1);
	expect_device(1, "", ENODEV);
	expect_device(2, "/dev/null", 0);
	assert_int_equal(new_error(), -ENOTBLK);
	expect_fs_info(1, 1);
	expect_device(1, "", 0);
	assert_int_equal(new_error(), -ENODEV);
	expect_fs_info(1, 1);
	expect_device(1, "missing", 0);
	assert_int_equal(new_error(), -ENODEV);
	expect_fs_info(1, 1);
	expect_device(1, "/nowhere/at/all", 0);
	assert_int_equal(new_error(), -ENOENT);
	expect_fs_info(1, 1);
	expect_device(1, "", EPERM);
	assert_int_equal(new_error(), -EPERM);
}

TEST_WITH(test_contradictions, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_fs_info(UINT64_MAX, 1);
	assert_int_equal(new_error(), -E2BIG);
	expect_fs_info(1, 1);
	expect_device(1, "", ENODEV);
	assert_int_equal(new_error(), -ENODEV);
	expect_fs_info(0, 0);
	assert_int_equal(new_error(), -ENODEV);
}

TEST(test_parts)
{
	const struct fsync_kind_sums sums[FSYNC_KINDS] = {
		[FSYNC_LOG] = { .count = 10, .total_ns = 1000 },
		[FSYNC_FULL] = { .count = 2, .total_ns = 700 },
		[FSYNC_UNCERTAIN] = { .count = 1, .total_ns = 30 },
	};
	struct fsync_parts parts;

	parts = fsync_parts_of(sums, 50);
	assert_int_equal(parts.disk_ns, 500 + 100 + 30);
	assert_int_equal(parts.log_ns, 500);
	assert_int_equal(parts.commit_ns, 600);
	/* The disk alone cannot take longer. */
	parts = fsync_parts_of(sums, UINT64_MAX);
	assert_int_equal(parts.disk_ns, 1730);
	assert_int_equal(parts.log_ns + parts.commit_ns, 0);
}
