// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "path/open-beneath.h"
#include "test.h"

static char root[32];
static int root_fd;

/* 0, or what openat2() fails with. */
static int openat2_error;

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	long fd;

	if (number != SYS_openat2)
		return __real_syscall(number, a, b, c, d, e);
	if (openat2_error) {
		errno = openat2_error;
		return -1;
	}
	fd = __real_syscall(number, a, b, c, d, e);
	/* QEMU 7.2 does not know it, and openat(2) does the same here. */
	return fd < 0 && errno == ENOSYS ?
		       openat(a, (const char *)b, ((const struct open_how *)c)->flags) :
		       fd;
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-open-beneath-XXXXXX");
	assert_non_null(mkdtemp(root));
	root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root_fd >= 0);
	assert_int_equal(mkdirat(root_fd, "directory", 0700), 0);
	assert_int_equal(mknodat(root_fd, "file", S_IFREG | 0600, 0), 0);
	assert_int_equal(mknodat(root_fd, "..file", S_IFREG | 0600, 0), 0);
	assert_int_equal(mknodat(root_fd, "directory/below", S_IFREG | 0600, 0), 0);
	assert_int_equal(symlinkat("file", root_fd, "link"), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlinkat(root_fd, "file", 0);
	unlinkat(root_fd, "..file", 0);
	unlinkat(root_fd, "link", 0);
	unlinkat(root_fd, "directory/below", 0);
	unlinkat(root_fd, "directory", AT_REMOVEDIR);
	close(root_fd);
	return rmdir(root);
}

static void assert_opens(const char *name, int flags)
{
	int fd = open_beneath(root_fd, name, flags | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
}

TEST_WITH(test_names, setup, teardown)
{
	static const char *const refused[] = {
		"",	      ".",
		"..",	      "/",
		"/etc",	      "./file",
		"../file",    "directory/below",
		"directory/", "directory/..",
	};
	static const int errors[] = { 0, ENOSYS, EPERM };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		openat2_error = errors[i];
		for (size_t j = 0; j < ARRAY_SIZE(refused); j++)
			assert_int_equal(open_beneath(root_fd, refused[j], O_PATH), -EINVAL);
		assert_opens("file", O_RDONLY);
		assert_opens("..file", O_RDONLY);
		assert_opens("directory", O_RDONLY | O_DIRECTORY);
		assert_opens("link", O_PATH);
		assert_int_equal(open_beneath(root_fd, "link", O_RDONLY), -ELOOP);
		assert_int_equal(open_beneath(root_fd, "missing", O_RDONLY), -ENOENT);
	}
}

/* What openat(2) opens is open before it is known where it is. */
TEST_WITH(test_at_once, setup, teardown)
{
	static const int errors[] = { ENOSYS, EPERM };
	int fd;

	openat2_error = 0;
	fd = open_beneath_at_once(root_fd, "file", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(open_beneath_at_once(root_fd, "link", O_RDONLY), -ELOOP);
	assert_int_equal(open_beneath_at_once(root_fd, "directory/below", O_RDONLY), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		openat2_error = errors[i];
		assert_int_equal(open_beneath_at_once(root_fd, "file", O_RDONLY), -ENOSYS);
	}
}
