// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <btrfs/ioctl.h>

#include "../large-file.h"
#include "fs/filesystem.h"
#include "ioctl-mock.h"
#include "test.h"

/* What fstatfs() answers. */
static long filesystem_type;
static int fail_fstatfs;

int __wrap_fstatfs(int fd, struct statfs *status) LARGE_FILE_SYMBOL("__wrap_fstatfs");
int __wrap_fstatfs(int fd, struct statfs *status)
{
	(void)fd;
	if (fail_fstatfs) {
		errno = fail_fstatfs;
		return -1;
	}
	*status = (struct statfs){ .f_type = filesystem_type };
	return 0;
}

/* The number that the next descriptor gets. */
static int next_descriptor(void)
{
	int fd = open("/", O_PATH);

	close(fd);
	return fd;
}

TEST(test_open_directory)
{
	int fd;

	filesystem_type = BTRFS_SUPER_MAGIC;
	fail_fstatfs = 0;
	fd = filesystem_open_directory("/", O_PATH);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_PATH);
	close(fd);
	assert_int_equal(filesystem_open_directory("/proc/self/exe", O_RDONLY), -ENOTDIR);
	assert_int_equal(filesystem_open_directory("/proc/nothing", O_RDONLY), -ENOENT);
}

TEST(test_open_directory_of_something_else)
{
	int next = next_descriptor();

	filesystem_type = EXT4_SUPER_MAGIC;
	fail_fstatfs = 0;
	assert_int_equal(filesystem_open_directory("/", O_RDONLY), -ENOTTY);
	fail_fstatfs = EIO;
	assert_int_equal(filesystem_open_directory("/", O_RDONLY), -EIO);
	/* Nothing stays open. */
	assert_int_equal(next_descriptor(), next);
}

TEST(test_text)
{
	static const uint8_t fsid[FSID_SIZE] = {
		0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0xa0, 0x10,
		0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x09,
	};
	char text[FSID_TEXT_SIZE];

	assert_string_equal(filesystem_id_text(text, fsid), "00017f80-ff0a-a010-2345-6789abcdef09");
}

static void expect_fs_info(int error)
{
	struct btrfs_ioctl_fs_info_args answer = { 0 };

	memcpy(answer.fsid, "0123456789abcdef", FSID_SIZE);
	ioctl_mock_expect(&(struct ioctl_call){
		.request = BTRFS_IOC_FS_INFO,
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

TEST_WITH(test_filesystem_id, ioctl_mock_setup, ioctl_mock_teardown)
{
	uint8_t fsid[FSID_SIZE] = { 0 };

	expect_fs_info(0);
	assert_int_equal(filesystem_id_of(MOCK_FD, fsid), 0);
	assert_memory_equal(fsid, "0123456789abcdef", FSID_SIZE);
}

TEST_WITH(test_filesystem_id_of_something_else, ioctl_mock_setup, ioctl_mock_teardown)
{
	const uint8_t zero[FSID_SIZE] = { 0 };
	uint8_t fsid[FSID_SIZE] = { 0 };

	expect_fs_info(ENOTTY);
	assert_int_equal(filesystem_id_of(MOCK_FD, fsid), -ENOTTY);
	assert_memory_equal(fsid, zero, FSID_SIZE);
}

static void expect_transaction(unsigned long request, uint64_t asked, uint64_t answer, int error)
{
	ioctl_mock_expect(&(struct ioctl_call){
		.request = request,
		.expected = &asked,
		.expected_size = sizeof(asked),
		.error = error,
		.answer = &answer,
		.answer_size = sizeof(answer),
	});
}

/* It waits for the very commit that it started. */
TEST_WITH(test_commit, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_transaction(BTRFS_IOC_START_SYNC, 0, 77, 0);
	expect_transaction(BTRFS_IOC_WAIT_SYNC, 77, 77, 0);
	assert_int_equal(filesystem_commit(MOCK_FD), 0);
}

TEST_WITH(test_commit_errors, ioctl_mock_setup, ioctl_mock_teardown)
{
	expect_transaction(BTRFS_IOC_START_SYNC, 0, 0, ENOTTY);
	assert_int_equal(filesystem_commit(MOCK_FD), -ENOTTY);
	expect_transaction(BTRFS_IOC_START_SYNC, 0, 77, 0);
	expect_transaction(BTRFS_IOC_WAIT_SYNC, 77, 0, EIO);
	assert_int_equal(filesystem_commit(MOCK_FD), -EIO);
}
