// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/probe-folder.h"
#include "test.h"

/*
 * Another user is quick: between mkdir and open he renames the folder to MOVED, and puts what
 * PLANT makes in its place.
 */
static int (*plant)(int fd, const char *name);

int __real_mkdirat(int fd, const char *name, mode_t mode);
int __wrap_mkdirat(int fd, const char *name, mode_t mode);

#define MOVED "moved"

int __wrap_mkdirat(int fd, const char *name, mode_t mode)
{
	int ret = __real_mkdirat(fd, name, mode);

	if (ret < 0 || !plant)
		return ret;
	assert_int_equal(renameat(fd, name, fd, MOVED), 0);
	assert_int_equal(plant(fd, name), 0);
	return 0;
}

struct fixture {
	char path[32];
	int fd;
};

static int make_parent(void **state)
{
	static struct fixture fixture;

	plant = NULL;
	strcpy(fixture.path, "/tmp/btrfs-fastpath-test.XXXXXX");
	if (!mkdtemp(fixture.path))
		return -1;
	fixture.fd = open(fixture.path, O_RDONLY | O_DIRECTORY);
	*state = &fixture;
	return fixture.fd < 0 ? -1 : 0;
}

/* What a test leaves in there fails here. */
static int remove_parent(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->fd);
	return rmdir(fixture->path);
}

TEST_WITH(test_folder, make_parent, remove_parent)
{
	struct fixture *fixture = *state;
	struct probe_folder folder;
	struct stat status;

	assert_int_equal(probe_folder_new(fixture->fd, &folder), 0);
	assert_int_equal(fstatat(fixture->fd, folder.name, &status, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(status.st_mode, S_IFDIR | 0700);
	assert_int_equal(strncmp(folder.name, PROBE_PREFIX, strlen(PROBE_PREFIX)), 0);
	assert_int_equal(mkdirat(folder.fd, "in it", 0700), 0);
	assert_int_equal(faccessat(fixture->fd, folder.name, F_OK, 0), 0);
	assert_int_equal(unlinkat(folder.fd, "in it", AT_REMOVEDIR), 0);
	assert_int_equal(probe_folder_remove(&folder), 0);
	assert_int_equal(folder.fd, -1);
}

static int plant_nothing(int fd, const char *name)
{
	(void)fd;
	(void)name;
	return 0;
}

static int plant_file(int fd, const char *name)
{
	int file_fd = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	return file_fd < 0 ? -1 : close(file_fd);
}

static int plant_link(int fd, const char *name)
{
	return __real_mkdirat(fd, "target", 0700) < 0 ? -1 : symlinkat("target", fd, name);
}

static int plant_open_directory(int fd, const char *name)
{
	return __real_mkdirat(fd, name, 0700) < 0 ? -1 : fchmodat(fd, name, 0755, 0);
}

/* Of this user, as his own data is. */
static int plant_full_directory(int fd, const char *name)
{
	int directory_fd, ret;

	if (__real_mkdirat(fd, name, 0700) < 0)
		return -1;
	directory_fd = openat(fd, name, O_RDONLY | O_DIRECTORY);
	ret = __real_mkdirat(directory_fd, "data", 0700);
	close(directory_fd);
	return ret;
}

static void assert_refused(struct fixture *fixture, int (*planted)(int fd, const char *name),
			   int expected)
{
	struct probe_folder folder = { .fd = 42 };

	plant = planted;
	assert_int_equal(probe_folder_new(fixture->fd, &folder), expected);
	assert_int_equal(folder.fd, 42);
	plant = NULL;
	assert_int_equal(unlinkat(fixture->fd, MOVED, AT_REMOVEDIR), 0);
}

/* The only name in there that begins as that of a folder. */
static void remove_planted(const struct fixture *fixture)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r %s/" PROBE_PREFIX "*", fixture->path);
	assert_int_equal(system(command), 0);
}

TEST_WITH(test_replaced_before_it_is_open, make_parent, remove_parent)
{
	struct fixture *fixture = *state;

	assert_refused(fixture, plant_nothing, -ESTALE);
	assert_refused(fixture, plant_file, -ESTALE);
	remove_planted(fixture);
	assert_refused(fixture, plant_link, -ESTALE);
	/* What the link leads to stays. */
	assert_int_equal(unlinkat(fixture->fd, "target", AT_REMOVEDIR), 0);
	remove_planted(fixture);
	assert_refused(fixture, plant_full_directory, -ESTALE);
	remove_planted(fixture);
	/* An empty one is removed: its owner could remove it as well. */
	assert_refused(fixture, plant_open_directory, -ESTALE);
}

TEST_WITH(test_in_directory_of_another, make_parent, remove_parent)
{
	struct fixture *fixture = *state;
	struct probe_folder folder;

	assert_int_equal(fchown(fixture->fd, geteuid() ? -1U : 65534, -1), 0);
	assert_int_equal(probe_folder_new(fixture->fd, &folder), 0);
	assert_int_equal(probe_folder_remove(&folder), 0);
}

TEST_WITH(test_replaced_before_it_is_removed, make_parent, remove_parent)
{
	struct fixture *fixture = *state;
	struct probe_folder folder;

	assert_int_equal(probe_folder_new(fixture->fd, &folder), 0);
	assert_int_equal(renameat(fixture->fd, folder.name, fixture->fd, MOVED), 0);
	assert_int_equal(mkdirat(fixture->fd, folder.name, 0700), 0);
	assert_int_equal(probe_folder_remove(&folder), -ESTALE);
	assert_int_equal(unlinkat(fixture->fd, folder.name, AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(fixture->fd, MOVED, AT_REMOVEDIR), 0);

	assert_int_equal(probe_folder_new(fixture->fd, &folder), 0);
	assert_int_equal(renameat(fixture->fd, folder.name, fixture->fd, MOVED), 0);
	assert_int_equal(probe_folder_remove(&folder), -ESTALE);
	assert_int_equal(unlinkat(fixture->fd, MOVED, AT_REMOVEDIR), 0);
}

TEST_WITH(test_not_empty, make_parent, remove_parent)
{
	struct fixture *fixture = *state;
	struct probe_folder folder;

	assert_int_equal(probe_folder_new(fixture->fd, &folder), 0);
	assert_int_equal(mkdirat(folder.fd, "data", 0700), 0);
	assert_int_equal(probe_folder_remove(&folder), -ENOTEMPTY);
	remove_planted(fixture);
}

TEST_WITH(test_safe_in, make_parent, remove_parent)
{
	static const struct {
		mode_t mode;
		bool expected;
	} cases[] = {
		{ 0755, true },	 { 0700, true },  { 0775, false },
		{ 0757, false }, { 01777, true }, { 01770, true },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(fchmod(fixture->fd, cases[i].mode), 0);
		assert_int_equal(probe_folder_is_safe_in(fixture->fd), cases[i].expected);
	}
	assert_false(probe_folder_is_safe_in(-1));
	if (geteuid() != 0)
		return;
	/* Its owner may rename what is in it, sticky or not. */
	assert_int_equal(fchown(fixture->fd, 65534, 65534), 0);
	assert_false(probe_folder_is_safe_in(fixture->fd));
}
