// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/probe-files.h"
#include "test.h"

static int new_file(void)
{
	char path[] = "/tmp/btrfs-fastpath-test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

TEST(test_names)
{
	char one[PROBE_NAME_SIZE], two[PROBE_NAME_SIZE];

	assert_int_equal(probe_name(one), 0);
	assert_int_equal(probe_name(two), 0);
	assert_int_equal(strlen(one), PROBE_NAME_SIZE - 1);
	assert_int_equal(strncmp(one, PROBE_PREFIX, strlen(PROBE_PREFIX)), 0);
	assert_string_not_equal(one, two);
}

TEST(test_every_other)
{
	int fd = new_file();
	char block[PROBE_BLOCK];
	struct stat status;

	assert_int_equal(probe_write_every_other(fd, 1, 3), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 6 * PROBE_BLOCK);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(pread(fd, block, sizeof(block), i * PROBE_BLOCK), sizeof(block));
		assert_int_equal(block[0], i % 2);
	}
	assert_int_equal(probe_read_all(fd), 0);
	close(fd);
	assert_int_equal(probe_write_every_other(fd, 0, 1), -EBADF);
	assert_int_equal(probe_read_all(fd), -EBADF);
}

/* Whether it is on disk nobody can see here. */
TEST(test_dirty)
{
	int fd = new_file();
	struct stat status;

	assert_int_equal(probe_dirty_every_other(fd, 1, 3), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 6 * PROBE_BLOCK);
	close(fd);
	assert_int_equal(probe_dirty_every_other(fd, 0, 1), -EBADF);
}

TEST(test_remove)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY);
	char name[PROBE_NAME_SIZE];

	assert_int_equal(probe_name(name), 0);
	assert_int_equal(probe_remove(fd, name, 0), 0);
	assert_int_equal(mkdirat(fd, name, 0700), 0);
	assert_int_equal(probe_remove(fd, name, 0), -EISDIR);
	assert_int_equal(probe_remove(fd, name, AT_REMOVEDIR), 0);
	assert_int_equal(faccessat(fd, name, F_OK, 0), -1);
	close(fd);
}

TEST(test_interrupted)
{
	struct interrupts interrupts;

	/* Who runs this may ignore it. */
	signal(SIGTERM, SIG_DFL);
	interrupts_hold(&interrupts);
	assert_int_equal(probe_interrupted(&interrupts), 0);
	raise(SIGTERM);
	assert_int_equal(probe_interrupted(&interrupts), -EINTR);
}
