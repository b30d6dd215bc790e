// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks among mounts, which need root, in a namespace of its own. cmocka 1.1.5 says "not ok" of a
 * test that is skipped, so these are a program, which is skipped as a whole.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include "../large-file.h"
#include "fs/file-walk.h"
#include "test.h"

static char root[40];

/* The kernel has no openat2(). */
static bool no_openat2;

/* What is in the mounts is on another btrfs. */
static bool other_filesystem;

/* Everything is on btrfs; the program is linked with -Wl,--wrap=fstatfs. */
int __wrap_fstatfs(int fd, struct statfs *filesystem) LARGE_FILE_SYMBOL("__wrap_fstatfs");
int __wrap_fstatfs(int fd, struct statfs *filesystem)
{
	char link[32], path[80] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	memset(filesystem, 0, sizeof(*filesystem));
	if (other_filesystem && (strstr(path, "/tree/file") || strstr(path, "/tree/sub")))
		memset(&filesystem->f_fsid, 1, sizeof(filesystem->f_fsid));
	filesystem->f_type = strncmp(path, "/proc/", 6) ? BTRFS_SUPER_MAGIC : PROC_SUPER_MAGIC;
	return 0;
}

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (number != SYS_openat2 || !no_openat2)
		return __real_syscall(number, a, b, c, d, e);
	errno = ENOSYS;
	return -1;
}

/* The path of NAME, valid for the next few calls. */
static const char *in_root(const char *name)
{
	static char paths[4][80];
	static size_t next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static const char *const directories[] = { "", "tree", "tree/sub", "other" };
static const char *const files[] = { "tree/file", "tree/sub/below", "other/outside" };

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-file-walk-mounts-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (size_t i = 1; i < ARRAY_SIZE(directories); i++)
		assert_int_equal(mkdir(in_root(directories[i]), 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(mknod(in_root(files[i]), S_IFREG | 0600, 0), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	umount(in_root("tree/file"));
	umount(in_root("tree/sub"));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		remove(in_root(files[i]));
	for (size_t i = ARRAY_SIZE(directories); i-- > 0;)
		remove(in_root(directories[i]));
	return access(root, F_OK) == 0 ? -1 : 0;
}

static struct path_store store;

static struct file_walk *start(void)
{
	static char path[64];
	static char *const paths[] = { path, NULL };
	const struct file_walk_options options = {
		.store = &store,
		.paths = paths,
		.recursive = true,
	};
	struct file_walk *walk;

	snprintf(path, sizeof(path), "%s/tree", root);
	assert_int_equal(file_walk_new(&walk, &options), 0);
	return walk;
}

/* What opening each file of a walk comes to: 0 or an errno, or 1 where it was not found. */
struct found {
	int file, below;
};

static struct found walk_tree(void)
{
	struct found found = { 1, 1 };
	struct file_walk *walk = start();
	struct found_file file;
	int ret;

	while ((ret = file_walk_next(walk, &file)) > 0) {
		struct stat status;
		int fd, *result;

		if (file.error == -EXDEV && file.type == S_IFDIR) {
			found.below = -EXDEV;
			continue;
		}
		assert_int_equal(file.error, 0);
		result = strcmp(file.name, "file") ? &found.below : &found.file;
		assert_string_not_equal(path_node_name(file.directory), "outside");
		fd = file_walk_open(walk, &file, &status);
		*result = fd < 0 ? fd : 0;
		if (fd >= 0)
			close(fd);
	}
	assert_int_equal(ret, 0);
	file_walk_free(walk);
	return found;
}

static void bind(const char *what, const char *where)
{
	assert_int_equal(mount(in_root(what), in_root(where), NULL, MS_BIND, NULL), 0);
}

/*
 * Neither a file nor a directory that is a mount point belongs to it, even if other users can write. Those of
 * the same file system are told.
 */
static void check_mounts(mode_t mode)
{
	struct found found;

	assert_int_equal(chmod(in_root("tree"), mode), 0);
	found = walk_tree();
	assert_int_equal(found.file, 0);
	assert_int_equal(found.below, 0);

	bind("other/outside", "tree/file");
	bind("other", "tree/sub");
	found = walk_tree();
	assert_int_equal(found.file, -EXDEV);
	assert_int_equal(found.below, -EXDEV);
	other_filesystem = true;
	found = walk_tree();
	other_filesystem = false;
	assert_int_equal(found.file, -ENODEV);
	assert_int_equal(found.below, 1);

	assert_int_equal(umount(in_root("tree/file")), 0);
	assert_int_equal(umount(in_root("tree/sub")), 0);
	found = walk_tree();
	assert_int_equal(found.file, 0);
	assert_int_equal(found.below, 0);
}

/* It hides nothing. */
static void check_mounted_on_itself(void)
{
	struct found found;

	bind("tree/sub", "tree/sub");
	found = walk_tree();
	assert_int_equal(found.file, 0);
	assert_int_equal(found.below, 0);
	assert_int_equal(umount(in_root("tree/sub")), 0);
}

TEST_WITH(test_mounts, setup, teardown)
{
	no_openat2 = false;
	check_mounts(0700);
	check_mounts(0730);
	check_mounted_on_itself();
}

TEST_WITH(test_mounts_without_openat2, setup, teardown)
{
	no_openat2 = true;
	check_mounts(0700);
	check_mounts(0730);
	check_mounted_on_itself();
}

/* Returns NULL, or why there can be no mounts, as in tests/allowed-skips. */
const char *reason_to_skip(void)
{
	const char *emulator = getenv("EMULATOR");

	/* QEMU 7.2 has no openat2(), and leaves out of statx() what mount a file is on. */
	if (emulator && *emulator)
		return "the emulator tells no mounts apart";
	if (geteuid())
		return "mounting needs root";
	/* In a chroot, which is no mount point, the namespace is as private as its maker's. */
	if (unshare(CLONE_NEWNS) ||
	    (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && errno != EINVAL))
		return "root may not mount here";
	return NULL;
}
