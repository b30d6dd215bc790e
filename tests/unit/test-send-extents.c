// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "kernel-answers.h"
#include "send/send-extents.h"
#include "test.h"

/* A directory with two files, whose descriptor is the one on which mocked ioctls may come. */
static char directory[] = "/tmp/test-send-extents.XXXXXX";
static struct send_extents *extents;

static uint64_t make_file(const char *name)
{
	struct stat status;

	close(openat(MOCK_FD, name, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(fstatat(MOCK_FD, name, &status, 0), 0);
	return status.st_ino;
}

static int setup(void **state)
{
	int fd;

	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	if (ioctl_mock_setup(state) || !mkdtemp(directory))
		return -1;
	fd = open(directory, O_RDONLY | O_DIRECTORY);
	if (dup2(fd, MOCK_FD) != MOCK_FD)
		return -1;
	close(fd);
	return send_extents_new(&extents, MOCK_FD);
}

static int teardown(void **state)
{
	send_extents_free(extents);
	unlinkat(MOCK_FD, "a", 0);
	unlinkat(MOCK_FD, "b", 0);
	close(MOCK_FD);
	rmdir(directory);
	return ioctl_mock_teardown(state);
}

/* Compressed extents of 128 KiB from OFFSET on. */
static void expect_extents(uint64_t inode, uint64_t offset, uint32_t count)
{
	struct btrfs_file_extent_item raw = {
		.ram_bytes = htole64(KIB(128)),
		.compression = 1,
		.type = BTRFS_FILE_EXTENT_REG,
		.disk_bytenr = htole64(MIB(5)),
		.disk_num_bytes = htole64(KIB(8)),
		.num_bytes = htole64(KIB(128)),
	};
	const struct search_key key = { 0, inode, BTRFS_EXTENT_DATA_KEY, 0, UINT64_MAX };
	struct tree_item items[4];

	assert_true(count <= ARRAY_SIZE(items));
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct tree_item){
			.objectid = inode,
			.type = BTRFS_EXTENT_DATA_KEY,
			.offset = offset + i * KIB(128),
			.data = &raw,
			.size = sizeof(raw),
		};
	expect_tree_search(&key, items, count, 0);
}

static void expect_no_more(uint64_t inode, uint64_t last)
{
	const struct search_key key = { 0, inode, BTRFS_EXTENT_DATA_KEY, last + 1, UINT64_MAX };

	expect_tree_search(&key, NULL, 0, 0);
}

static int find(const char *path, uint64_t offset, struct file_extent *ret_extent)
{
	const struct send_command command = {
		.type = SEND_UPDATE_EXTENT,
		.path = path,
		.offset = offset,
		.length = KIB(128),
	};

	return send_extents_find(extents, &command, ret_extent);
}

/* One walk through each file, however many extents it has. */
static void test_in_order(void **state)
{
	uint64_t a = make_file("a"), b = make_file("b");
	struct file_extent extent;

	(void)state;
	expect_extents(a, 0, 3);
	assert_int_equal(find("a", 0, &extent), 1);
	assert_int_equal(extent.disk_bytes, KIB(8));
	assert_int_equal(find("a", KIB(128), &extent), 1);
	assert_int_equal(extent.offset, KIB(128));
	/* within an extent: the rest of it was cloned */
	assert_int_equal(find("a", KIB(260), &extent), 1);
	assert_int_equal(extent.offset, KIB(256));
	expect_no_more(a, KIB(256));
	assert_int_equal(find("a", KIB(384), &extent), 0);

	expect_extents(b, KIB(128), 1);
	assert_int_equal(find("b", 0, &extent), 0);
	assert_int_equal(find("b", KIB(128), &extent), 1);
}

static void test_back_to_the_start(void **state)
{
	uint64_t a = make_file("a");
	struct file_extent extent;

	(void)state;
	expect_extents(a, 0, 2);
	assert_int_equal(find("a", KIB(128), &extent), 1);
	expect_extents(a, 0, 2);
	assert_int_equal(find("a", 0, &extent), 1);
	assert_int_equal(extent.offset, 0);
}

/* A name that the file does not have any more, or that another kind of file has. */
static void test_no_such_file(void **state)
{
	struct file_extent extent = { .offset = 99 };

	(void)state;
	assert_int_equal(find("o257-8-0", 0, &extent), 0);
	assert_int_equal(find("o257-8-0", KIB(128), &extent), 0);
	assert_int_equal(find(".", 0, &extent), 0);
	assert_int_equal(find("", 0, &extent), 0);
	make_file("a");
	assert_int_equal(find("a", UINT64_MAX, &extent), 0);
	/* no link is followed: nothing is searched for */
	assert_int_equal(symlinkat("a", MOCK_FD, "b"), 0);
	assert_int_equal(find("b", 0, &extent), 0);
	assert_int_equal(extent.offset, 99);
}

static void test_errors(void **state)
{
	uint64_t a = make_file("a");
	const struct search_key key = { 0, a, BTRFS_EXTENT_DATA_KEY, 0, UINT64_MAX };
	struct send_extents *none = NULL;
	struct file_extent extent;

	(void)state;
	expect_tree_search(&key, NULL, 0, EIO);
	assert_int_equal(find("a", 0, &extent), -EIO);
	assert_int_equal(send_extents_new(&none, -1), -EBADF);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_to_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_such_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
	};

	return cmocka_run_group_tests_name("send-extents", tests, NULL, NULL);
}
