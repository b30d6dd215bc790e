// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/mount.h>

#include "probe/probe-image.h"
#include "sys/child-process.h"
#include "test.h"

static int open_directory(void)
{
	const char *path = getenv("TMPDIR");

	return open(path && *path ? path : "/var/tmp", O_RDONLY | O_DIRECTORY);
}

static bool can_make_files_without_a_name(void)
{
	int directory_fd = open_directory();
	int fd = openat(directory_fd, ".", O_TMPFILE | O_EXCL | O_RDWR, 0600);

	if (directory_fd >= 0)
		close(directory_fd);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Why this cannot be tested here, NULL if it can. */
const char *reason_to_skip(void)
{
	const char *wanted = getenv("MOUNT_TESTS");
	char *program;
	int fd;

	if (wanted && strcmp(wanted, "no") == 0)
		return "no tests that mount, as was asked for";
	if (geteuid() != 0)
		return "mounting needs root";
	if (!can_make_files_without_a_name())
		return "no files without a name in $TMPDIR or /var/tmp";
	if (access("/dev/loop-control", R_OK | W_OK) < 0)
		return "no loop device";
	fd = syscall(SYS_fsopen, "btrfs", FSOPEN_CLOEXEC);
	if (fd < 0)
		return errno == EPERM ? "root may not mount here" : "no btrfs in this kernel";
	close(fd);
	if (program_find("mkfs.btrfs", &program) < 0)
		return "mkfs.btrfs is not installed";
	free(program);
	return NULL;
}

struct fixture {
	int directory_fd;
	struct probe_failure failure;
	struct probe_image image;
};

static int make_image(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){ .directory_fd = open_directory() };
	*state = &fixture;
	if (probe_image_new(fixture.directory_fd, &fixture.failure, &fixture.image) < 0)
		return -1;
	return 0;
}

static int free_image(void **state)
{
	struct fixture *fixture = *state;

	probe_image_free(&fixture->image);
	close(fixture->directory_fd);
	return 0;
}

static struct probe_image *image_of(void **state)
{
	struct fixture *fixture = *state;

	return &fixture->image;
}

TEST_WITH(test_has_no_name, make_image, free_image)
{
	struct fixture *fixture = *state;
	struct probe_image *image = &fixture->image;
	struct stat status;
	char path[64], name[64];
	int ret;

	assert_int_equal(fstat(image->file_fd, &status), 0);
	assert_int_equal(status.st_nlink, 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	/* And it never gets one. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", image->file_fd);
	snprintf(name, sizeof(name), "btrfs-fastpath-test.%d", (int)getpid());
	ret = linkat(AT_FDCWD, path, fixture->directory_fd, name, AT_SYMLINK_FOLLOW);
	if (ret == 0)
		unlinkat(fixture->directory_fd, name, 0);
	assert_int_equal(ret, -1);
	assert_int_equal(errno, ENOENT);
}

TEST_WITH(test_mount_flags, make_image, free_image)
{
	struct probe_image *image = image_of(state);
	struct statvfs status;

	assert_int_equal(probe_image_mount(image), 0);
	assert_int_equal(fstatvfs(image->root_fd, &status), 0);
	assert_int_equal(status.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC),
			 ST_NOSUID | ST_NODEV | ST_NOEXEC);
	assert_int_equal(probe_image_unmount(image), 0);
}

static bool is_mounted(const char *device)
{
	FILE *file = fopen("/proc/self/mountinfo", "r");
	char line[4096];
	bool found = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, device) != NULL;
	fclose(file);
	return found;
}

/* Each mount is over before the next one, and what was written stays. */
TEST_WITH(test_mounts_again, make_image, free_image)
{
	struct probe_image *image = image_of(state);
	char device[PROBE_DEVICE_SIZE + 2];

	snprintf(device, sizeof(device), " %s ", image->device);
	for (int i = 0; i < 3; i++) {
		char name[2] = { 'a' + i };

		assert_int_equal(probe_image_mount(image), 0);
		assert_false(is_mounted(device));
		if (i)
			assert_int_equal(faccessat(image->root_fd, "a", F_OK, 0), 0);
		assert_int_equal(mkdirat(image->root_fd, name, 0700), 0);
		assert_int_equal(probe_image_unmount(image), 0);
		assert_int_equal(image->root_fd, -1);
		assert_int_equal(image->mount_fd, -1);
	}
}

/* A descriptor that was forgotten keeps the mount. */
TEST_WITH(test_in_use, make_image, free_image)
{
	struct probe_image *image = image_of(state);
	int fd;

	assert_int_equal(probe_image_mount(image), 0);
	fd = dup(image->root_fd);
	assert_int_equal(probe_image_unmount(image), -EBUSY);
	assert_string_equal(image->failure->step, "cannot unmount the image");
	close(fd);
	assert_int_equal(probe_image_unmount(image), 0);
}

/* Replaces mkfs.btrfs by a shell script that runs COMMAND. */
static void assert_mkfs_fails(const char *command, int expected, const char *step, const char *said)
{
	char folder[] = "/tmp/btrfs-fastpath-test.XXXXXX", path[64];
	int directory_fd = open_directory();
	char *path_before = strdup(getenv("PATH"));
	struct probe_failure failure = { 0 };
	struct probe_image image;
	FILE *script;

	assert_non_null(path_before);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/mkfs.btrfs", folder);
	if (command) {
		script = fopen(path, "w");
		assert_non_null(script);
		fprintf(script, "#!/bin/sh\n%s\n", command);
		assert_int_equal(fclose(script), 0);
		assert_int_equal(chmod(path, 0700), 0);
	}
	setenv("PATH", folder, 1);
	assert_int_equal(probe_image_new(directory_fd, &failure, &image), expected);
	setenv("PATH", path_before, 1);
	assert_string_equal(failure.step, step);
	assert_string_equal(failure.said, said);
	free(path_before);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	close(directory_fd);
}

TEST(test_mkfs_fails)
{
	assert_mkfs_fails(
		"echo 'WARNING: old' >&2; echo 'ERROR: no room' >&2; echo more >&2; exit 1", -EIO,
		"mkfs.btrfs failed", "no room");
	assert_mkfs_fails("echo 'what\nelse' >&2; exit 1", -EIO, "mkfs.btrfs failed", "what");
	assert_mkfs_fails("exit 3", -EIO, "mkfs.btrfs failed", "exit status 3");
	assert_mkfs_fails("kill -TERM $$", -EIO, "mkfs.btrfs failed", "ended by signal 15");
	/* By a descriptor that it has. */
	assert_mkfs_fails("for device; do :; done\n"
			  "[ -b \"$device\" ] && echo ${device%[0-9]*} >&2; exit 1",
			  -EIO, "mkfs.btrfs failed", "/proc/self/fd/");
	assert_mkfs_fails(NULL, -ENOPKG, "cannot find mkfs.btrfs", "not installed");
}

TEST(test_no_directory)
{
	struct probe_failure failure = { 0 };
	struct probe_image image;

	assert_int_equal(probe_image_new(-1, &failure, &image), -EBADF);
	assert_string_equal(failure.step, "cannot create an image");
}
