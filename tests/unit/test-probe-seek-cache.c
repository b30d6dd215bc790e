// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../large-file.h"
#include "base/min-cpu-time.h"
#include "probe/feature-probe.h"
#include "probe/probe-files.h"
#include "test.h"

#define DIRECTORY_FD 1000

/* What the two walks take, and which step fails with ERROR: a letter of CALLS. */
static struct {
	uint64_t before_ns, after_ns;
	char failing;
	int error;
	/* open, write, time, read, signals, and time again */
	char calls[8];
	int fd;
} kernel;

static int call(char name)
{
	kernel.calls[strlen(kernel.calls)] = name;
	return name == kernel.failing ? kernel.error : 0;
}

int __wrap_openat(int fd, const char *path, int flags, ...) LARGE_FILE_SYMBOL("__wrap_openat");
int __wrap_openat(int fd, const char *path, int flags, ...)
{
	assert_int_equal(fd, DIRECTORY_FD);
	assert_string_equal(path, ".");
	assert_int_equal(flags, O_TMPFILE | O_RDWR | O_CLOEXEC);
	if (call('o') < 0) {
		errno = -kernel.error;
		return -1;
	}
	kernel.fd = open("/", O_PATH);
	return kernel.fd;
}

int __wrap_probe_write_every_other(int fd, unsigned int first, unsigned int count);
int __wrap_probe_write_every_other(int fd, unsigned int first, unsigned int count)
{
	assert_int_equal(fd, kernel.fd);
	assert_int_equal(first, 0);
	assert_true(count > 1);
	return call('w');
}

int __wrap_min_cpu_time_of(int (*timed)(int fd, void *data), int fd, void *data, uint64_t *ret_ns);
int __wrap_min_cpu_time_of(int (*timed)(int fd, void *data), int fd, void *data, uint64_t *ret_ns)
{
	bool was_read = strchr(kernel.calls, 'r');

	(void)data;
	assert_non_null(timed);
	assert_int_equal(fd, kernel.fd);
	*ret_ns = was_read ? kernel.after_ns : kernel.before_ns;
	return call(was_read ? 'T' : 't');
}

int __wrap_probe_read_all(int fd);
int __wrap_probe_read_all(int fd)
{
	assert_int_equal(fd, kernel.fd);
	return call('r');
}

int __wrap_probe_interrupted(struct interrupts *interrupts);
int __wrap_probe_interrupted(struct interrupts *interrupts)
{
	(void)interrupts;
	return call('s');
}

static int probe(uint64_t before_ns, uint64_t after_ns, struct feature_cost *ret_cost)
{
	int ret;

	memset(kernel.calls, 0, sizeof(kernel.calls));
	kernel.before_ns = before_ns;
	kernel.after_ns = after_ns;
	ret = probe_seek_cache(DIRECTORY_FD, NULL, ret_cost);
	assert_true(kernel.failing == 'o' || fcntl(kernel.fd, F_GETFD) < 0);
	return ret;
}

static void expect_cost(uint64_t before_ns, uint64_t after_ns)
{
	struct feature_cost cost;

	kernel.failing = 0;
	assert_int_equal(probe(before_ns, after_ns, &cost), 0);
	assert_string_equal(kernel.calls, "owtrsT");
	assert_int_equal(cost.cost, 300);
	assert_int_equal(cost.reference, 100);
}

/* Which of the two is slow depends on the kernel. */
static void test_slower_against_faster(void **state)
{
	(void)state;
	expect_cost(300, 100);
	expect_cost(100, 300);
}

static void expect_error(char failing, int error, const char *calls)
{
	struct feature_cost cost = { 1, 2 };

	kernel.failing = failing;
	kernel.error = error;
	assert_int_equal(probe(300, 100, &cost), error);
	assert_string_equal(kernel.calls, calls);
	assert_int_equal(cost.cost, 1);
	assert_int_equal(cost.reference, 2);
}

static void test_errors(void **state)
{
	(void)state;
	expect_error('o', -EROFS, "o");
	expect_error('w', -ENOSPC, "ow");
	expect_error('t', -EINVAL, "owt");
	expect_error('r', -EIO, "owtr");
	expect_error('s', -EINTR, "owtrs");
	expect_error('T', -EPROTO, "owtrsT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slower_against_faster),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests_name("probe-seek-cache", tests, NULL, NULL);
}
