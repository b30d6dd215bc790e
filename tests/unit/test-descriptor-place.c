// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path/descriptor-place.h"
#include "test.h"

TEST(test_renamed)
{
	char name[] = "/tmp/test-descriptor-place-XXXXXX", renamed[50];
	int fd = mkstemp(name);
	struct descriptor_place place;
	struct stat status;

	assert_true(fd >= 0);
	snprintf(renamed, sizeof(renamed), "%s.renamed", name);
	assert_int_equal(rename(name, renamed), 0);
	assert_int_equal(descriptor_place_of(fd, &place), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(place.inode, status.st_ino);
	assert_string_equal(strrchr(place.path, '/'), strrchr(renamed, '/'));
	free(place.path);
	assert_int_equal(unlink(renamed), 0);
	close(fd);
}

/* As of a directory outside the mount by which it was opened. */
TEST(test_unknown_path)
{
	int fd = open("/", O_PATH);
	struct descriptor_place place;

	assert_int_equal(descriptor_place_of(fd, &place), 0);
	assert_null(place.path);
	close(fd);
}

TEST(test_error)
{
	struct descriptor_place place = { .inode = 77 };

	assert_int_equal(descriptor_place_of(-1, &place), -EBADF);
	assert_int_equal(place.inode, 77);
}
