// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A libc can have it, too. */
#ifndef STATX_TYPE
#include <linux/stat.h>
#endif

#include "path/inode-identity.h"
#include "test.h"

/* As Linux before 5.8 */
static bool no_mount_id;
static bool knows_mount_roots;
/* The file system keeps the times of birth. */
static bool birth_is_known;
/* QEMU 7.2 says that there is a mount id, and leaves it out. */
static bool mount_is_known;

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	long ret = __real_syscall(number, a, b, c, d, e);

	struct statx *status = (struct statx *)e;

	assert_int_equal(number, SYS_statx);
	if (ret < 0)
		return ret;
	knows_mount_roots = status->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT;
	birth_is_known = status->stx_mask & STATX_BTIME;
	mount_is_known = status->stx_mask & STATX_MNT_ID && status->stx_mnt_id;
	if (no_mount_id) {
		status->stx_attributes_mask &= ~(uint64_t)STATX_ATTR_MOUNT_ROOT;
		status->stx_mask &= ~STATX_MNT_ID;
		status->stx_mnt_id = 77;
	}
	return 0;
}

static char root[40];
static int root_fd, proc_fd;

static int make_file(const char *name)
{
	int fd = openat(root_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static int setup(void **state)
{
	(void)state;
	no_mount_id = false;
	strcpy(root, "/tmp/test-inode-identity-XXXXXX");
	assert_non_null(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	proc_fd = open("/proc/self", O_PATH | O_CLOEXEC);
	assert_true(root_fd >= 0 && proc_fd >= 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(root_fd, "first", 0);
	unlinkat(root_fd, "second", 0);
	close(root_fd);
	close(proc_fd);
	return rmdir(root);
}

static struct inode_identity identity_of(int fd)
{
	struct inode_identity identity;

	assert_int_equal(inode_identity_of(fd, &identity), 0);
	return identity;
}

/* As its directory lists it */
static uint64_t inode_of(const char *name)
{
	DIR *entries = opendir(root);
	const struct dirent *entry;
	uint64_t inode = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries))) {
		if (strcmp(entry->d_name, name) == 0)
			inode = entry->d_ino;
	}
	closedir(entries);
	return inode;
}

TEST_WITH(test_inode, setup, teardown)
{
	int64_t before = time(NULL) - 1;
	int first = make_file("first"), second = make_file("second");
	struct inode_identity identity = identity_of(first), again;

	assert_int_equal(identity.inode, inode_of("first"));
	assert_int_equal(identity_of(second).inode, inode_of("second"));
	if (birth_is_known)
		assert_true(identity.birth_s >= before && identity.birth_s <= time(NULL) + 1);

	/* it is born once only */
	close(first);
	first = openat(root_fd, "first", O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(first, "x", 1), 1);
	again = identity_of(first);
	assert_int_equal(again.inode, identity.inode);
	assert_int_equal(again.birth_s, identity.birth_s);
	assert_int_equal(again.birth_ns, identity.birth_ns);
	close(first);
	close(second);
}

TEST_WITH(test_name, setup, teardown)
{
	int first = make_file("first"), second = make_file("second");
	struct stat status;
	bool is_name;

	assert_int_equal(fstat(first, &status), 0);
	is_name = is_name_of_inode(root_fd, "first", status.st_dev, status.st_ino);
	assert_int_equal(is_name, knows_mount_roots);
	assert_false(is_name_of_inode(root_fd, "first", status.st_dev + 1, status.st_ino));
	assert_false(is_name_of_inode(root_fd, "second", status.st_dev, status.st_ino));
	assert_false(is_name_of_inode(root_fd, "third", status.st_dev, status.st_ino));
	no_mount_id = true;
	assert_false(is_name_of_inode(root_fd, "first", status.st_dev, status.st_ino));

	/* something is mounted there */
	no_mount_id = false;
	assert_int_equal(stat("/proc", &status), 0);
	assert_false(is_name_of_inode(AT_FDCWD, "/proc", status.st_dev, status.st_ino));
	close(first);
	close(second);
}

static uint64_t mount_of(int fd)
{
	uint64_t mount;

	assert_int_equal(mount_identity_of(fd, &mount), 0);
	return mount;
}

/* That /proc tells the same */
static void assert_listed(int fd, uint64_t told)
{
	char path[40], line[100];
	uint64_t mount = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fopen(path, "r");
	assert_non_null(info);
	while (mount == 0 && fgets(line, sizeof(line), info))
		sscanf(line, "mnt_id: %" SCNu64, &mount);
	fclose(info);
	assert_int_not_equal(mount, 0);
	if (mount_is_known)
		assert_int_equal(told, mount);
}

TEST_WITH(test_mount, setup, teardown)
{
	int first = make_file("first");

	assert_listed(first, mount_of(first));
	assert_listed(proc_fd, mount_of(proc_fd));
	no_mount_id = true;
	assert_int_equal(mount_of(first), mount_of(root_fd));
	assert_int_not_equal(mount_of(first), mount_of(proc_fd));
	close(first);
}

TEST_WITH(test_errors, setup, teardown)
{
	struct inode_identity identity = { .inode = 77 };
	uint64_t mount = 77;

	assert_int_equal(inode_identity_of(-1, &identity), -EBADF);
	assert_int_equal(mount_identity_of(-1, &mount), -EBADF);
	assert_int_equal(identity.inode, 77);
	assert_int_equal(mount, 77);
}
