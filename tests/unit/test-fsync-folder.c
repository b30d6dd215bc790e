// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fsync/fsync-folder.h"
#include "test.h"

/* The next of these calls fails with that, if it is not 0. */
static int fail_mark, fail_unlink, fail_sync;

/* Not every file system that tests are run on has extended attributes, and not every root may set them. */
static struct {
	ino_t inode;
	size_t size;
	char value[100];
} marked[8];
static size_t marked_count;

static const char *mark_name(void)
{
	return geteuid() ? "user.btrfs-fastpath.log-stats" : "trusted.btrfs-fastpath.log-stats";
}

int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	struct stat status;

	assert_int_equal(flags, XATTR_CREATE);
	assert_string_equal(name, mark_name());
	assert_in_range(size, 1, sizeof(marked[0].value));
	if (fail_mark) {
		errno = fail_mark;
		fail_mark = 0;
		return -1;
	}
	assert_int_equal(fstat(fd, &status), 0);
	assert_true(marked_count < ARRAY_SIZE(marked));
	marked[marked_count].inode = status.st_ino;
	marked[marked_count].size = size;
	memcpy(marked[marked_count++].value, value, size);
	return 0;
}

ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size);
ssize_t __wrap_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	struct stat status;

	assert_string_equal(name, mark_name());
	assert_int_equal(fstat(fd, &status), 0);
	/* A number can have been that of another one before. */
	for (size_t i = marked_count; i-- > 0;) {
		if (marked[i].inode != status.st_ino)
			continue;
		assert_true(size >= marked[i].size);
		memcpy(value, marked[i].value, marked[i].size);
		return marked[i].size;
	}
	errno = ENODATA;
	return -1;
}

int __real_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags)
{
	if (!fail_unlink)
		return __real_unlinkat(fd, name, flags);
	/* somebody else was faster */
	if (fail_unlink == ENOENT)
		__real_unlinkat(fd, name, flags);
	errno = fail_unlink;
	fail_unlink = 0;
	return -1;
}

int __real_mkdirat(int fd, const char *name, mode_t mode);
int __wrap_mkdirat(int fd, const char *name, mode_t mode);
/* What the owner of the parent does once it is made, if that is not NULL. */
static void (*after_mkdir)(int fd, const char *name);
int __wrap_mkdirat(int fd, const char *name, mode_t mode)
{
	int ret = __real_mkdirat(fd, name, mode);

	if (ret == 0 && after_mkdir)
		after_mkdir(fd, name);
	return ret;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	if (!fail_sync)
		return __real_fsync(fd);
	errno = fail_sync;
	fail_sync = 0;
	return -1;
}

static char root[40];
static int root_fd;
static struct fsync_folder folder;

static int setup(void **state)
{
	(void)state;
	fail_mark = fail_unlink = fail_sync = 0;
	marked_count = 0;
	after_mkdir = NULL;
	strcpy(root, "/tmp/test-fsync-folder-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	root_fd = open(root, O_RDONLY | O_DIRECTORY);
	return root_fd < 0 ? -1 : 0;
}

/* Fails if something is left. */
static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	return rmdir(root);
}

static void new_folder(void)
{
	assert_int_equal(fsync_folder_new(root_fd, &folder, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fsync_folder_add(&folder), 0);
	assert_int_equal(folder.file_count, 3);
}

static int remove_all(struct fsync_folder *which, int *ret_count)
{
	int ret;

	*ret_count = 0;
	while ((ret = fsync_folder_remove_next(which)) > 0)
		++*ret_count;
	return ret;
}

static void expect_removed(int count)
{
	int removed;

	assert_int_equal(remove_all(&folder, &removed), 0);
	assert_int_equal(removed, count);
	assert_int_equal(faccessat(root_fd, folder.name, F_OK, 0), -1);
	fsync_folder_close(&folder);
}

static void make_file(const char *name, const char *text)
{
	int fd = openat(folder.fd, name, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

TEST_WITH(test_life, setup, teardown)
{
	uint64_t nanoseconds = 0;

	new_folder();
	assert_int_equal(fsync_folder_sync(&folder, &nanoseconds), 0);
	assert_true(nanoseconds > 0);
	assert_int_equal(fsync_folder_touch(&folder), 0);
	expect_removed(3);
}

TEST_WITH(test_interrupted_and_failed_sync, setup, teardown)
{
	uint64_t nanoseconds = 77;

	new_folder();
	fail_sync = EINTR;
	assert_int_equal(fsync_folder_sync(&folder, &nanoseconds), 0);
	assert_true(nanoseconds != 77);
	nanoseconds = 77;
	fail_sync = EIO;
	assert_int_equal(fsync_folder_sync(&folder, &nanoseconds), -EIO);
	assert_int_equal(nanoseconds, 77);
	expect_removed(3);
}

/* teardown() sees that nothing is left. */
TEST_WITH(test_failed_mark, setup, teardown)
{
	char left[FSYNC_FOLDER_NAME_SIZE];

	fail_mark = EDQUOT;
	assert_int_equal(fsync_folder_new(root_fd, &folder, left), -EDQUOT);
	assert_string_equal(left, "");
}

TEST_WITH(test_removing_again, setup, teardown)
{
	int count;

	new_folder();
	fail_unlink = EDQUOT;
	assert_int_equal(remove_all(&folder, &count), -EDQUOT);
	expect_removed(3 - count);
}

TEST_WITH(test_what_is_not_ours, setup, teardown)
{
	static const char *const others[] = { "file_2", "file_", "file_x", "file_1x", "other" };
	int count;

	new_folder();
	make_file("file_2", "data");
	for (size_t i = 1; i < ARRAY_SIZE(others); i++)
		make_file(others[i], "");
	assert_int_equal(symlinkat("/etc/passwd", folder.fd, "file_70"), 0);
	assert_int_equal(mkdirat(folder.fd, "file_71", 0700), 0);
	assert_int_equal(remove_all(&folder, &count), -ENOTEMPTY);
	assert_int_equal(count, 2);

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(__real_unlinkat(folder.fd, others[i], 0), 0);
	assert_int_equal(__real_unlinkat(folder.fd, "file_70", 0), 0);
	assert_int_equal(__real_unlinkat(folder.fd, "file_71", AT_REMOVEDIR), 0);
	fsync_folder_close(&folder);
	assert_int_equal(__real_unlinkat(root_fd, folder.name, AT_REMOVEDIR), 0);
}

TEST_WITH(test_data, setup, teardown)
{
	int first, second;

	new_folder();
	first = fsync_folder_make_data(&folder, FSYNC_DATA_NAME);
	assert_true(first >= 0);
	assert_int_equal(fsync_folder_make_data(&folder, FSYNC_DATA_NAME), -EEXIST);
	assert_int_equal(fsync_folder_replace_data(&folder), -ENOENT);
	second = fsync_folder_make_data(&folder, FSYNC_NEW_DATA_NAME);
	assert_true(second >= 0);
	assert_int_equal(write(second, "new", 3), 3);
	assert_int_equal(fsync_folder_replace_data(&folder), 0);
	assert_int_equal(faccessat(folder.fd, FSYNC_NEW_DATA_NAME, F_OK, 0), -1);
	close(first);
	close(second);
	/* as after SIGKILL before the rename */
	make_file(FSYNC_NEW_DATA_NAME, "newer");
	expect_removed(5);
}

TEST_WITH(test_data_that_is_not_ours, setup, teardown)
{
	int count;

	new_folder();
	assert_int_equal(mkdirat(folder.fd, FSYNC_DATA_NAME, 0700), 0);
	assert_int_equal(symlinkat("/etc/passwd", folder.fd, FSYNC_NEW_DATA_NAME), 0);
	make_file("data.old", "");
	assert_int_equal(remove_all(&folder, &count), -ENOTEMPTY);
	assert_int_equal(count, 3);
	assert_int_equal(__real_unlinkat(folder.fd, FSYNC_DATA_NAME, AT_REMOVEDIR), 0);
	assert_int_equal(__real_unlinkat(folder.fd, FSYNC_NEW_DATA_NAME, 0), 0);
	assert_int_equal(__real_unlinkat(folder.fd, "data.old", 0), 0);
	expect_removed(0);
}

TEST_WITH(test_what_has_vanished, setup, teardown)
{
	new_folder();
	assert_int_equal(__real_unlinkat(folder.fd, "file_1", 0), 0);
	expect_removed(2);

	new_folder();
	fail_unlink = ENOENT;
	expect_removed(2);

	new_folder();
	for (int i = 0; i < 3; i++)
		assert_int_equal(fsync_folder_remove_next(&folder), 1);
	assert_int_equal(__real_unlinkat(root_fd, folder.name, AT_REMOVEDIR), 0);
	expect_removed(0);
}

/* How many there were. */
struct found {
	int certain;
	int doubtful;
	int in_use;
};

static int remove_left(void *data, struct fsync_folder *left, enum fsync_folder_finding finding)
{
	struct found *found = data;
	int count;

	if (finding != FSYNC_FOLDER_LEFT) {
		found->doubtful += finding == FSYNC_FOLDER_DOUBTFUL;
		found->in_use += finding == FSYNC_FOLDER_IN_USE;
		return 0;
	}
	found->certain++;
	return remove_all(left, &count);
}

static void expect_found(struct found expected)
{
	struct found found = { 0 };

	assert_int_equal(fsync_folder_each_left(root_fd, remove_left, &found), 0);
	assert_int_equal(found.certain, expected.certain);
	assert_int_equal(found.doubtful, expected.doubtful);
	assert_int_equal(found.in_use, expected.in_use);
}

static void expect_left(int certain, int doubtful)
{
	expect_found((struct found){ .certain = certain, .doubtful = doubtful });
}

TEST_WITH(test_left, setup, teardown)
{
	new_folder();
	/* it is locked */
	expect_found((struct found){ .in_use = 1 });
	/* as after SIGKILL */
	fsync_folder_close(&folder);
	expect_left(1, 0);
	expect_left(0, 0);
}

/* Told of, and not removed. */
static void expect_doubtful(void)
{
	fsync_folder_close(&folder);
	expect_left(0, 1);
	folder.fd = openat(root_fd, folder.name, O_RDONLY | O_DIRECTORY);
	expect_removed(3);
}

TEST_WITH(test_left_without_mark, setup, teardown)
{
	new_folder();
	marked_count = 0;
	expect_doubtful();
}

TEST_WITH(test_left_with_another_mark, setup, teardown)
{
	/* of 0.1 */
	new_folder();
	marked[0].size = 1;
	expect_doubtful();
	/* of an inode that had this number before */
	new_folder();
	marked[marked_count - 1].value[marked[marked_count - 1].size - 1] ^= 1;
	expect_doubtful();
	new_folder();
	marked[marked_count - 1].value[0] ^= 1;
	expect_doubtful();
}

TEST_WITH(test_left_of_everybodys, setup, teardown)
{
	static const mode_t modes[] = { 0755, 0770, 0701, 0720 };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		new_folder();
		assert_int_equal(fchmod(folder.fd, modes[i]), 0);
		expect_doubtful();
	}
	/* as in a directory that has it */
	new_folder();
	assert_int_equal(fchmod(folder.fd, 02700), 0);
	fsync_folder_close(&folder);
	expect_left(1, 0);
}

/* In a user namespace root may not set what is "trusted.". */
TEST_WITH(test_root_who_may_not_mark, setup, teardown)
{
	char left[FSYNC_FOLDER_NAME_SIZE];

	fail_mark = EPERM;
	if (geteuid()) {
		assert_int_equal(fsync_folder_new(root_fd, &folder, left), -EPERM);
		assert_string_equal(left, "");
		return;
	}
	new_folder();
	expect_doubtful();
}

static void rename_to(const char *directory, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(renameat(root_fd, folder.name, root_fd, path), 0);
}

static void make_directory(const char *name)
{
	assert_int_equal(__real_mkdirat(root_fd, name, 0700), 0);
}

static void remove_directory(const char *name)
{
	assert_int_equal(__real_unlinkat(root_fd, name, AT_REMOVEDIR), 0);
}

TEST_WITH(test_renamed, setup, teardown)
{
	int count;

	new_folder();
	make_directory("other");
	rename_to(".", "renamed");
	expect_removed(3);
	new_folder();
	rename_to("other", "moved");
	/* what has its name now is not removed */
	make_directory(folder.name);
	assert_int_equal(remove_all(&folder, &count), 0);
	assert_int_equal(count, 3);
	fsync_folder_close(&folder);
	remove_directory(folder.name);
	remove_directory("other");
}

/* Its error is the one that is told, and not that it was renamed. */
TEST_WITH(test_removal_of_renamed_fails, setup, teardown)
{
	new_folder();
	for (int i = 0; i < 3; i++)
		assert_int_equal(fsync_folder_remove_next(&folder), 1);
	rename_to(".", "renamed");
	fail_unlink = EROFS;
	assert_int_equal(fsync_folder_remove_next(&folder), -EROFS);
	expect_removed(0);
}

static void exchange(int fd, const char *name)
{
	assert_int_equal(renameat(fd, name, fd, "ours"), 0);
	assert_int_equal(renameat(fd, "bait", fd, name), 0);
	strcpy(folder.name, name);
}

TEST_WITH(test_exchanged_for_one_with_files, setup, teardown)
{
	struct fsync_folder exchanged = { .fd = 77 };
	char left[FSYNC_FOLDER_NAME_SIZE];

	make_directory("bait");
	folder.fd = openat(root_fd, "bait", O_RDONLY | O_DIRECTORY);
	make_file("file_1", "");
	after_mkdir = exchange;
	assert_int_equal(fsync_folder_new(root_fd, &exchanged, left), -EEXIST);
	assert_string_equal(left, folder.name);
	assert_int_equal(exchanged.fd, 77);
	assert_int_equal(__real_unlinkat(folder.fd, "file_1", 0), 0);
	close(folder.fd);
	remove_directory(folder.name);
	remove_directory("ours");
}

TEST_WITH(test_exchanged_for_one_of_everybodys, setup, teardown)
{
	struct fsync_folder exchanged;
	char left[FSYNC_FOLDER_NAME_SIZE];

	make_directory("bait");
	assert_int_equal(fchmodat(root_fd, "bait", 0777, 0), 0);
	after_mkdir = exchange;
	assert_int_equal(fsync_folder_new(root_fd, &exchanged, left), -EPERM);
	assert_string_equal(left, folder.name);
	remove_directory(folder.name);
	remove_directory("ours");
}
