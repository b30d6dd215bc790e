// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path/own-link.h"
#include "test.h"

#define TARGET "/usr/libexec/ours"

static char root[40];

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/test-own-link.XXXXXX");
	return mkdtemp(root) && chdir(root) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(root) == 0 ? 0 : -1;
}

static enum own_link_state look(const char *path)
{
	enum own_link_state state;

	assert_int_equal(own_link_look(path, TARGET, &state), 0);
	return state;
}

static const char *at(const char *name)
{
	static char path[100];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

TEST_WITH(test_make_and_remove, setup, teardown)
{
	assert_int_equal(look(at("link")), OWN_LINK_ABSENT);
	assert_int_equal(own_link_make(at("link"), TARGET), 1);
	assert_int_equal(look(at("link")), OWN_LINK_PRESENT);
	/* once more */
	assert_int_equal(own_link_make(at("link"), TARGET), 0);
	assert_int_equal(own_link_remove(at("link"), TARGET, 0), 0);
	assert_int_equal(look(at("link")), OWN_LINK_ABSENT);
	assert_int_equal(own_link_remove(at("link"), TARGET, 0), 0);
}

TEST_WITH(test_directories, setup, teardown)
{
	struct stat status;
	mode_t mask;

	assert_int_equal(mkdir("kept", 0700), 0);
	mask = umask(022);
	assert_int_equal(own_link_make(at("kept/one/two/link"), TARGET), 1);
	umask(mask);
	assert_int_equal(stat("kept/one/two", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	assert_int_equal(stat("kept", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);

	assert_int_equal(own_link_remove(at("kept/one/two/link"), TARGET, 2), 0);
	assert_int_equal(access("kept/one", F_OK), -1);
	assert_int_equal(rmdir("kept"), 0);
}

TEST_WITH(test_directory_in_use, setup, teardown)
{
	assert_int_equal(own_link_make(at("one/two/link"), TARGET), 1);
	assert_int_equal(symlink("elsewhere", "one/other"), 0);
	assert_int_equal(own_link_remove(at("one/two/link"), TARGET, 2), 0);
	assert_int_equal(access("one/two", F_OK), -1);
	assert_int_equal(unlink("one/other"), 0);
	assert_int_equal(rmdir("one"), 0);
}

/* One that begins as ours does is not ours. */
TEST_WITH(test_taken, setup, teardown)
{
	static const char *const targets[] = { TARGET "-too", "/usr/libexec/our",
					       "/usr/libexec/ourz", "elsewhere" };

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		char found[40] = "";

		assert_int_equal(symlink(targets[i], "link"), 0);
		assert_int_equal(look(at("link")), OWN_LINK_TAKEN);
		assert_int_equal(own_link_make(at("link"), TARGET), -EEXIST);
		assert_int_equal(own_link_remove(at("link"), TARGET, 1), -EEXIST);
		assert_true(readlink("link", found, sizeof(found) - 1) > 0);
		assert_string_equal(found, targets[i]);
		assert_int_equal(unlink("link"), 0);
	}

	assert_int_equal(mkdir("link", 0755), 0);
	assert_int_equal(look(at("link")), OWN_LINK_TAKEN);
	assert_int_equal(own_link_make(at("link"), TARGET), -EEXIST);
	assert_int_equal(own_link_remove(at("link"), TARGET, 1), -EEXIST);
	assert_int_equal(rmdir("link"), 0);
}

TEST_WITH(test_file_in_the_way, setup, teardown)
{
	enum own_link_state found;

	assert_int_equal(close(creat("file", 0644)), 0);
	assert_int_equal(own_link_look(at("file/link"), TARGET, &found), -ENOTDIR);
	assert_int_equal(own_link_make(at("file/link"), TARGET), -ENOTDIR);
	assert_int_equal(own_link_remove(at("file/link"), TARGET, 1), 0);
	assert_int_equal(unlink("file"), 0);
}
