// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fs/backref.h"
#include "fs/subvolume.h"
#include "sharing/owner-names.h"
#include "test.h"

#define FD 1000
#define FSID "0123456789abcdef"
#define INODE 257

/* What each function answers: 0, or a negative errno; and how often it was asked. */
static struct {
	int fsid, path, mount, names, one_name;
	bool complete;
	unsigned int paths_asked;
	/* the descriptor of the mounted subvolume that was handed out last */
	int mounted_fd;
} kernel;

int __wrap_filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE]);
int __wrap_filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE])
{
	assert_int_equal(fd, FD);
	if (kernel.fsid == 0)
		memcpy(ret_fsid, FSID, FSID_SIZE);
	return kernel.fsid;
}

int __wrap_subvolume_path(int fd, uint64_t subvolid, char **ret_path);
int __wrap_subvolume_path(int fd, uint64_t subvolid, char **ret_path)
{
	assert_int_equal(fd, FD);
	kernel.paths_asked++;
	if (kernel.path == 0)
		*ret_path = strdup(subvolid == 5 ? "/" : "sub");
	return kernel.path;
}

int __wrap_subvolume_open_mounted(const uint8_t fsid[FSID_SIZE], uint64_t subvolid,
				  const char *path, char **ret_directory);
int __wrap_subvolume_open_mounted(const uint8_t fsid[FSID_SIZE], uint64_t subvolid,
				  const char *path, char **ret_directory)
{
	assert_memory_equal(fsid, FSID, FSID_SIZE);
	assert_string_equal(path, subvolid == 5 ? "/" : "sub");
	if (kernel.mount < 0)
		return kernel.mount;
	*ret_directory = strdup("/mnt");
	kernel.mounted_fd = open("/", O_PATH);
	return kernel.mounted_fd;
}

static char **make_names(const char *name)
{
	char **names = calloc(2, sizeof(*names));

	names[0] = strdup(name);
	return names;
}

int __wrap_backref_inode_names(int fd, uint64_t inode, char ***ret_names, bool *ret_complete);
int __wrap_backref_inode_names(int fd, uint64_t inode, char ***ret_names, bool *ret_complete)
{
	assert_int_equal(fd, kernel.mounted_fd);
	assert_int_equal(inode, INODE);
	if (kernel.names < 0)
		return kernel.names;
	*ret_names = make_names("all");
	*ret_complete = kernel.complete;
	return 0;
}

int __wrap_backref_inode_one_name(int fd, uint64_t subvolid, uint64_t inode, char ***ret_names);
int __wrap_backref_inode_one_name(int fd, uint64_t subvolid, uint64_t inode, char ***ret_names)
{
	assert_int_equal(fd, FD);
	assert_true(subvolid);
	assert_int_equal(inode, INODE);
	if (kernel.one_name == 0)
		*ret_names = make_names("one");
	return kernel.one_name;
}

static int prepare(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.complete = true;
	return owner_names_new((struct owner_names **)state, FD);
}

static int finish(void **state)
{
	owner_names_free(*state);
	/* Nothing stays open. */
	return kernel.mounted_fd > 0 && fcntl(kernel.mounted_fd, F_GETFD) >= 0;
}

static struct owner_name find(struct owner_names *names, uint64_t subvolid)
{
	const struct extent_owner owner = { .subvolid = subvolid, .inode = INODE };
	struct owner_name name;

	assert_int_equal(owner_names_find(names, &owner, &name), 0);
	return name;
}

TEST_WITH(test_subvolume_alone, prepare, finish)
{
	struct owner_name name;

	assert_int_equal(owner_names_find_subvolume(*state, 5, &name), 0);
	assert_string_equal(name.subvolume, "/");
	assert_string_equal(name.directory, "/mnt");
	assert_null(name.names);
	kernel.path = -ENOENT;
	assert_int_equal(owner_names_find_subvolume(*state, 256, &name), 0);
	assert_null(name.subvolume);
	assert_null(name.directory);
	kernel.path = -ENOMEM;
	assert_int_equal(owner_names_find_subvolume(*state, 257, &name), -ENOMEM);
}

TEST_WITH(test_mounted, prepare, finish)
{
	struct owner_name name = find(*state, 256);

	assert_string_equal(name.subvolume, "sub");
	assert_string_equal(name.directory, "/mnt");
	assert_string_equal(name.names[0], "all");
	assert_true(name.complete);
}

TEST_WITH(test_more_names_than_fit, prepare, finish)
{
	kernel.complete = false;
	assert_false(find(*state, 256).complete);
}

/* One name is all that can be asked for, so others may be missing. */
TEST_WITH(test_not_mounted, prepare, finish)
{
	struct owner_name name;

	kernel.mount = -ENOENT;
	name = find(*state, 256);
	assert_string_equal(name.subvolume, "sub");
	assert_null(name.directory);
	assert_string_equal(name.names[0], "one");
	assert_false(name.complete);
}

TEST_WITH(test_all_names_without_privilege, prepare, finish)
{
	struct owner_name name;

	kernel.names = -EPERM;
	name = find(*state, 256);
	assert_string_equal(name.names[0], "one");
	assert_false(name.complete);
}

TEST_WITH(test_gone, prepare, finish)
{
	struct owner_name name;

	kernel.path = -ENOENT;
	kernel.one_name = -ENOENT;
	name = find(*state, 256);
	assert_null(name.subvolume);
	assert_null(name.directory);
	assert_null(name.names);
}

/* The names before are not told again. */
TEST_WITH(test_gone_after_another, prepare, finish)
{
	assert_non_null(find(*state, 256).names);
	kernel.names = -ENOENT;
	kernel.one_name = -ENOENT;
	assert_null(find(*state, 256).names);
	kernel.path = -ENOENT;
	assert_null(find(*state, 257).subvolume);
}

/* A subvolume is looked up once for the owners in it. */
TEST_WITH(test_same_subvolume, prepare, finish)
{
	find(*state, 256);
	find(*state, 256);
	assert_int_equal(kernel.paths_asked, 1);
	assert_string_equal(find(*state, 5).subvolume, "/");
	assert_int_equal(kernel.paths_asked, 2);
	assert_string_equal(find(*state, 256).subvolume, "sub");
	assert_int_equal(kernel.paths_asked, 3);
}

static void expect_no_memory(struct owner_names *names, uint64_t subvolid)
{
	const struct extent_owner owner = { .subvolid = subvolid, .inode = INODE };
	struct owner_name name;

	assert_int_equal(owner_names_find(names, &owner, &name), -ENOMEM);
}

TEST_WITH(test_no_memory, prepare, finish)
{
	kernel.path = -ENOMEM;
	expect_no_memory(*state, 256);
	kernel.path = 0;
	kernel.mount = -ENOMEM;
	expect_no_memory(*state, 257);
	kernel.mount = 0;
	kernel.names = -ENOMEM;
	expect_no_memory(*state, 258);
	kernel.names = -EPERM;
	kernel.one_name = -ENOMEM;
	expect_no_memory(*state, 259);
}

TEST_WITH(test_not_btrfs, prepare, finish)
{
	struct owner_names *names = NULL;

	kernel.fsid = -ENOTTY;
	assert_int_equal(owner_names_new(&names, FD), -ENOTTY);
	assert_null(names);
}
