// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfsutil.h>

#include "../large-file.h"
#include "fs/device-stats.h"
#include "path/temporary-file.h"
#include "probe/feature-measure.h"
#include "probe/probe-files.h"
#include "probe/probe-image.h"
#include "send/send-subvolume.h"
#include "test.h"

#define ROUNDS 3
#define DIRECTORIES 20
#define FILES_A_DIRECTORY 50
#define FILES (1 + DIRECTORIES * FILES_A_DIRECTORY)
/* what the first leaves are read by before they are counted */
#define SENT_SIZE KIB(64)
#define FSID_BYTE 0x5a

/* A file system, and what it was asked for. */
static struct {
	/* what is read from the disk, at each file of the two directories that are looked at */
	uint64_t near_bytes[ROUNDS], far_bytes[ROUNDS];
	/* How often something is under way still after files were looked at; its bytes come then. */
	unsigned int waits;
	bool is_signalled;
	/* the stream */
	size_t piece_size;
	unsigned int piece_count;
	/* The call named so fails with ERROR, after so many that did not. */
	char failing;
	unsigned int fails_after;
	int error;

	unsigned int calls[CHAR_MAX];
	bool has_failed;
	int root_fd;
	bool is_read_only, is_first_read;
	unsigned int pieces_read, sleeps, waits_left;
	uint64_t read_bytes, bytes_under_way;
} disk;

static int call(char name)
{
	/* Nothing is tried any more. */
	assert_false(disk.has_failed);
	disk.calls[(unsigned char)name]++;
	if (name != disk.failing || disk.calls[(unsigned char)name] <= disk.fails_after)
		return 0;
	disk.has_failed = true;
	errno = -disk.error;
	return disk.error;
}

static unsigned int calls(char name)
{
	return disk.calls[(unsigned char)name];
}

enum btrfs_util_error __wrap_btrfs_util_create_subvolume_fd(
	int parent_fd, const char *name, int flags, uint64_t *unused,
	struct btrfs_util_qgroup_inherit *inherit);
enum btrfs_util_error __wrap_btrfs_util_create_subvolume_fd(
	int parent_fd, const char *name, int flags, uint64_t *unused,
	struct btrfs_util_qgroup_inherit *inherit)
{
	(void)flags;
	(void)unused;
	(void)inherit;
	assert_int_equal(parent_fd, disk.root_fd);
	assert_string_equal(name, "sent");
	return call('c') < 0 ? BTRFS_UTIL_ERROR_SUBVOL_CREATE_FAILED : BTRFS_UTIL_OK;
}

enum btrfs_util_error __wrap_btrfs_util_set_subvolume_read_only_fd(int fd, bool is_read_only);
enum btrfs_util_error __wrap_btrfs_util_set_subvolume_read_only_fd(int fd, bool is_read_only)
{
	assert_true(fd >= 0);
	assert_true(is_read_only);
	assert_int_equal(calls('w'), FILES);
	disk.is_read_only = true;
	return call('R') < 0 ? BTRFS_UTIL_ERROR_SUBVOL_SETFLAGS_FAILED : BTRFS_UTIL_OK;
}

int __wrap_mkdirat(int fd, const char *path, mode_t mode);
int __wrap_mkdirat(int fd, const char *path, mode_t mode)
{
	char expected[32];

	(void)mode;
	snprintf(expected, sizeof(expected), "sent/%u", calls('d'));
	assert_int_equal(fd, disk.root_fd);
	assert_string_equal(path, expected);
	return call('d') < 0 ? -1 : 0;
}

/* n: a new file, s: the subvolume, f: the first file. */
static char name_of_open(const char *path, int flags)
{
	if (flags & O_CREAT)
		return 'n';
	if (flags & O_DIRECTORY) {
		assert_string_equal(path, "sent");
		return 's';
	}
	assert_string_equal(path, "sent/first");
	return 'f';
}

int __wrap_openat(int fd, const char *path, int flags, ...) LARGE_FILE_SYMBOL("__wrap_openat");
int __wrap_openat(int fd, const char *path, int flags, ...)
{
	assert_int_equal(fd, disk.root_fd);
	assert_true(flags & O_CLOEXEC);
	return call(name_of_open(path, flags)) < 0 ? -1 : open("/", O_PATH);
}

int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset);
int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	assert_true(fd >= 0);
	assert_non_null(data);
	assert_int_equal(offset, 0);
	/* The others are inline. */
	if (calls('w'))
		assert_true(size < PROBE_BLOCK / 2);
	else
		assert_true(size > MIB(1));
	return call('w');
}

int __wrap_probe_image_unmount(struct probe_image *image);
int __wrap_probe_image_unmount(struct probe_image *image)
{
	assert_true(disk.is_read_only);
	disk.root_fd = image->root_fd = -1;
	return call('u');
}

int __wrap_probe_image_mount(struct probe_image *image);
int __wrap_probe_image_mount(struct probe_image *image)
{
	/* Nothing is in memory. */
	assert_int_equal(disk.root_fd, -1);
	disk.root_fd = image->root_fd = 1000 + calls('u');
	disk.is_first_read = false;
	return call('m');
}

int __wrap_filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE]);
int __wrap_filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE])
{
	assert_true(fd >= 0);
	memset(ret_fsid, FSID_BYTE, FSID_SIZE);
	return call('i');
}

int __wrap_probe_read_all(int fd);
int __wrap_probe_read_all(int fd)
{
	assert_true(fd >= 0);
	disk.is_first_read = true;
	return call('r');
}

int __wrap_device_stats_read(const char *root, const uint8_t fsid[FSID_SIZE],
			     struct device_stats *ret_stats);
int __wrap_device_stats_read(const char *root, const uint8_t fsid[FSID_SIZE],
			     struct device_stats *ret_stats)
{
	assert_null(root);
	assert_int_equal(fsid[0], FSID_BYTE);
	assert_int_equal(fsid[FSID_SIZE - 1], FSID_BYTE);
	if (!disk.waits_left) {
		disk.read_bytes += disk.bytes_under_way;
		disk.bytes_under_way = 0;
	}
	*ret_stats = (struct device_stats){
		.read_bytes = disk.read_bytes,
		.in_flight = disk.waits_left > 0,
		.device_count = 1,
	};
	disk.waits_left -= disk.waits_left > 0;
	return call('b');
}

int __wrap_interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds);
int __wrap_interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds)
{
	(void)interrupts;
	assert_true(nanoseconds > 0);
	disk.sleeps++;
	return disk.is_signalled ? SIGTERM : 0;
}

int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags)
	LARGE_FILE_SYMBOL("__wrap_fstatat");
int __wrap_fstatat(int fd, const char *path, struct stat *status, int flags)
{
	const unsigned int round = calls('m') - 1;
	unsigned int directory, file;

	(void)status;
	assert_int_equal(fd, disk.root_fd);
	assert_int_equal(flags, AT_SYMLINK_NOFOLLOW);
	assert_int_equal(sscanf(path, "sent/%u/%u", &directory, &file), 2);
	assert_int_equal(file, calls('t') % FILES_A_DIRECTORY);
	assert_true(directory < DIRECTORIES);
	disk.bytes_under_way += directory ? disk.far_bytes[round] : disk.near_bytes[round];
	disk.waits_left = disk.waits;
	return call('t') < 0 ? -1 : 0;
}

int __wrap_send_subvolume(const struct send_request *request, send_reader *reader, void *data);
int __wrap_send_subvolume(const struct send_request *request, send_reader *reader, void *data)
{
	assert_true(request->data);
	assert_int_equal(request->protocol, 1);
	assert_int_equal(request->parent, 0);
	assert_true(disk.is_first_read);
	for (unsigned int i = 0; i < disk.piece_count; i++) {
		int ret = reader(data, "", disk.piece_size);

		disk.pieces_read++;
		if (ret < 0)
			return ret;
	}
	return call('S');
}

int __wrap_probe_interrupted(struct interrupts *interrupts);
int __wrap_probe_interrupted(struct interrupts *interrupts)
{
	(void)interrupts;
	return call('I');
}

/* Leaves are in memory where send came to, and are not elsewhere. */
static int setup(void **state)
{
	(void)state;
	memset(&disk, 0, sizeof(disk));
	for (int i = 0; i < ROUNDS; i++) {
		disk.near_bytes[i] = 10;
		disk.far_bytes[i] = 100;
	}
	disk.piece_size = SENT_SIZE;
	disk.piece_count = 1;
	return 0;
}

/* The next descriptor that is to be had: it moves where one is left open. */
static int next_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static int probe(struct feature_cost *ret_cost)
{
	struct probe_image image = { .root_fd = 1000 };
	const int next = next_descriptor();
	int ret;

	memset(disk.calls, 0, sizeof(disk.calls));
	disk.has_failed = disk.is_read_only = false;
	disk.pieces_read = disk.sleeps = disk.waits_left = 0;
	disk.bytes_under_way = 0;
	disk.root_fd = image.root_fd;
	ret = probe_send_reada(&image, NULL, ret_cost);
	assert_int_equal(next_descriptor(), next);
	return ret;
}

static void expect_cost(uint64_t near_bytes, uint64_t far_bytes, enum feature_state state)
{
	struct feature_cost cost;

	assert_int_equal(probe(&cost), 0);
	assert_int_equal(calls('w'), FILES);
	assert_int_equal(calls('d'), DIRECTORIES);
	assert_int_equal(calls('u'), ROUNDS);
	assert_int_equal(calls('m'), ROUNDS);
	assert_int_equal(calls('t'), 2 * ROUNDS * FILES_A_DIRECTORY);
	assert_int_equal(cost.cost, near_bytes * FILES_A_DIRECTORY);
	assert_int_equal(cost.reference, far_bytes * FILES_A_DIRECTORY);
	assert_int_equal(feature_cost_judge(&feature_probes[FEATURE_SEND_READA], &cost), state);
}

static void expect_state(uint64_t near_bytes, enum feature_state state)
{
	for (int i = 0; i < ROUNDS; i++)
		disk.near_bytes[i] = near_bytes;
	expect_cost(near_bytes, disk.far_bytes[0], state);
}

TEST_WITH(test_states, setup, NULL)
{
	expect_state(0, FEATURE_PRESENT);
	expect_state(19, FEATURE_PRESENT);
	expect_state(20, FEATURE_UNKNOWN);
	expect_state(30, FEATURE_UNKNOWN);
	expect_state(31, FEATURE_ABSENT);
	expect_state(100, FEATURE_ABSENT);
	memset(disk.far_bytes, 0, sizeof(disk.far_bytes));
	expect_state(100, FEATURE_UNKNOWN);
}

/* What others read only adds; each cost is compared with what was read in the same round. */
TEST_WITH(test_least, setup, NULL)
{
	for (int i = 0; i < ROUNDS; i++)
		disk.far_bytes[i] = 1000 * (i + 1);
	disk.near_bytes[0] = 900;
	disk.near_bytes[1] = 40;
	disk.near_bytes[2] = 70;
	expect_cost(40, 2000, FEATURE_PRESENT);
	disk.near_bytes[0] = 30;
	expect_cost(30, 1000, FEATURE_PRESENT);
	disk.near_bytes[2] = 20;
	expect_cost(20, 3000, FEATURE_PRESENT);
}

/* What is under way is counted when it has come. */
TEST_WITH(test_under_way, setup, NULL)
{
	disk.waits = 3;
	expect_cost(10, 100, FEATURE_PRESENT);
	assert_int_equal(disk.sleeps, 2 * ROUNDS * 3);
	disk.waits = 999;
	expect_cost(10, 100, FEATURE_PRESENT);
}

TEST_WITH(test_under_way_for_ever, setup, NULL)
{
	struct feature_cost cost = { 1, 2 };

	disk.waits = UINT_MAX;
	assert_int_equal(probe(&cost), -ETIMEDOUT);
	assert_int_equal(disk.sleeps, 1000);
	assert_int_equal(calls('t'), FILES_A_DIRECTORY);
	assert_int_equal(cost.cost, 1);
	assert_int_equal(cost.reference, 2);
}

TEST_WITH(test_signal_while_under_way, setup, NULL)
{
	struct feature_cost cost = { 1, 2 };

	disk.waits = 5;
	disk.is_signalled = true;
	assert_int_equal(probe(&cost), -EINTR);
	assert_int_equal(disk.sleeps, 1);
	assert_int_equal(cost.cost, 1);
}

/* As soon as so much has come, and once: the rest of the stream is not waited for. */
TEST_WITH(test_pieces, setup, NULL)
{
	disk.piece_size = SENT_SIZE / 4 - 1;
	disk.piece_count = 100;
	expect_cost(10, 100, FEATURE_PRESENT);
	assert_int_equal(disk.pieces_read, 5 * ROUNDS);
	disk.piece_size++;
	expect_cost(10, 100, FEATURE_PRESENT);
	assert_int_equal(disk.pieces_read, 4 * ROUNDS);
}

TEST_WITH(test_short_stream, setup, NULL)
{
	struct feature_cost cost = { 1, 2 };

	disk.piece_size--;
	assert_int_equal(probe(&cost), -EPROTO);
	assert_int_equal(calls('t'), 0);
	disk.piece_count = 0;
	assert_int_equal(probe(&cost), -EPROTO);
	assert_int_equal(cost.cost, 1);
}

static void expect_error(char failing, unsigned int after, int error)
{
	struct feature_cost cost = { 1, 2 };

	disk.failing = failing;
	disk.fails_after = after;
	disk.error = error;
	assert_int_equal(probe(&cost), error);
	assert_true(disk.has_failed);
	assert_int_equal(cost.cost, 1);
	assert_int_equal(cost.reference, 2);
}

TEST_WITH(test_errors_of_making, setup, NULL)
{
	expect_error('c', 0, -EPERM);
	expect_error('n', 0, -EROFS);
	expect_error('w', 0, -ENOSPC);
	expect_error('d', DIRECTORIES - 1, -EDQUOT);
	expect_error('n', FILES - 1, -EMFILE);
	/* in the middle of a directory */
	expect_error('w', FILES / 3, -EIO);
	expect_error('s', 0, -EACCES);
	expect_error('R', 0, -ENOTTY);
	expect_error('I', 0, -EINTR);
}

/* In the last round as in the first: what came before is not told then. */
TEST_WITH(test_errors_of_rounds, setup, NULL)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		expect_error('u', round, -EBUSY);
		expect_error('m', round, -ENOSYS);
		expect_error('s', 1 + round, -EMFILE);
		expect_error('i', round, -ENOTTY);
		expect_error('f', round, -ENOENT);
		expect_error('r', round, -EIO);
		expect_error('I', 1 + round, -EINTR);
	}
}

TEST_WITH(test_errors_of_counting, setup, NULL)
{
	for (unsigned int i = 0; i < 4 * ROUNDS; i++)
		expect_error('b', i, -ENOENT);
	expect_error('t', 0, -EIO);
	expect_error('t', FILES_A_DIRECTORY, -ELOOP);
	expect_error('t', 2 * ROUNDS * FILES_A_DIRECTORY - 1, -EIO);
	disk.piece_count = 0;
	expect_error('S', 0, -EOPNOTSUPP);
}
