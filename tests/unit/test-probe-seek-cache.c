// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "../large-file.h"
#include "fs/fiemap.h"
#include "probe/feature-probe.h"
#include "sys/min-cpu-time.h"
#include "test.h"

#define DIRECTORY_FD 1000

/* What the two walks take, and which step fails with ERROR: a letter of CALLS. */
static struct {
	uint64_t before_ns, after_ns;
	char failing;
	int error;
	/* open, write, time, read, signals, and time again */
	char calls[32];
	int fd;
	/* how many pieces of dirty data the file has, for the time too, and how many were mapped */
	unsigned int dirty;
	unsigned int mapped;
	/* a letter for each file: y, or n where something of it is written to disk */
	const char *stay_dirty;
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
	*ret_ns = was_read ? kernel.after_ns : kernel.dirty ? kernel.dirty : kernel.before_ns;
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
	kernel.dirty = 0;
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
TEST(test_slower_against_faster)
{
	expect_cost(300, 100);
	expect_cost(100, 300);
}

typedef int probe_call(struct feature_cost *cost);

static int probe_slower(struct feature_cost *cost)
{
	return probe(300, 100, cost);
}

static void expect_error(probe_call *run, char failing, int error, const char *calls)
{
	struct feature_cost cost = { 1, 2 };

	kernel.failing = failing;
	kernel.error = error;
	assert_int_equal(run(&cost), error);
	assert_string_equal(kernel.calls, calls);
	assert_int_equal(cost.cost, 1);
	assert_int_equal(cost.reference, 2);
}

TEST(test_errors)
{
	expect_error(probe_slower, 'o', -EROFS, "o");
	expect_error(probe_slower, 'w', -ENOSPC, "ow");
	expect_error(probe_slower, 't', -EINVAL, "owt");
	expect_error(probe_slower, 'r', -EIO, "owtr");
	expect_error(probe_slower, 's', -EINTR, "owtrs");
	expect_error(probe_slower, 'T', -EPROTO, "owtrsT");
}

/* -- whether it is improved: d for writing dirty data, m for mapping it -- */

int __wrap_probe_dirty_every_other(int fd, unsigned int first, unsigned int count);
int __wrap_probe_dirty_every_other(int fd, unsigned int first, unsigned int count)
{
	assert_int_equal(fd, kernel.fd);
	assert_int_equal(first, 0);
	kernel.dirty = count;
	return call('d');
}

int __wrap_fiemap_iter_new(struct fiemap_iter **ret_iter);
int __wrap_fiemap_iter_new(struct fiemap_iter **ret_iter)
{
	*ret_iter = NULL;
	return 0;
}

void __wrap_fiemap_iter_free(struct fiemap_iter *iter);
void __wrap_fiemap_iter_free(struct fiemap_iter *iter)
{
	(void)iter;
}

void __wrap_fiemap_iter_start(struct fiemap_iter *iter, int fd, struct byte_range range,
			      uint32_t fiemap_flags);
void __wrap_fiemap_iter_start(struct fiemap_iter *iter, int fd, struct byte_range range,
			      uint32_t fiemap_flags)
{
	(void)iter;
	assert_int_equal(fd, kernel.fd);
	assert_int_equal(range.offset, 0);
	assert_true(range.length == UINT64_MAX);
	/* which must not write it to disk */
	assert_int_equal(fiemap_flags, 0);
	kernel.mapped = 0;
}

/* What does not stay dirty has its first extent on disk. */
int __wrap_fiemap_iter_next(struct fiemap_iter *iter, struct mapped_extent *ret_extent);
int __wrap_fiemap_iter_next(struct fiemap_iter *iter, struct mapped_extent *ret_extent)
{
	bool stays;

	(void)iter;
	if (kernel.mapped++ == kernel.dirty) {
		kernel.stay_dirty++;
		return call('m');
	}
	stays = *kernel.stay_dirty == 'y' || kernel.mapped > 1;
	*ret_extent = (struct mapped_extent){ .flags = stays ? FIEMAP_EXTENT_DELALLOC : 0 };
	return 1;
}

static int probe_improved(const char *stay_dirty, struct feature_cost *ret_cost)
{
	int ret;

	memset(kernel.calls, 0, sizeof(kernel.calls));
	kernel.stay_dirty = stay_dirty;
	ret = probe_seek_cache_improved(DIRECTORY_FD, NULL, ret_cost);
	assert_true(kernel.failing == 'o' || fcntl(kernel.fd, F_GETFD) < 0);
	return ret;
}

static void expect_improved(const char *stay_dirty, const char *calls, bool expected)
{
	struct feature_cost cost = { 1, 2 };

	kernel.failing = 0;
	assert_int_equal(probe_improved(stay_dirty, &cost), 0);
	assert_string_equal(kernel.calls, calls);
	assert_int_equal(cost.cost, expected ? 128 : 0);
	assert_int_equal(cost.reference, expected ? 32 : 0);
}

/* Only times of data that was not written to disk meanwhile count. */
TEST(test_improved)
{
	expect_improved("yy", "odtmodtms", true);
	expect_improved("nyyy", "odtmodtmsodtmodtms", true);
	expect_improved("ynyy", "odtmodtmsodtmodtms", true);
	expect_improved("nynyyy", "odtmodtmsodtmodtmsodtmodtms", true);
	expect_improved("nynyny", "odtmodtmsodtmodtmsodtmodtms", false);
	expect_improved("ynynyn", "odtmodtmsodtmodtmsodtmodtms", false);
}

static int probe_many(struct feature_cost *cost)
{
	return probe_improved("yy", cost);
}

TEST(test_improved_errors)
{
	expect_error(probe_many, 'o', -EROFS, "o");
	expect_error(probe_many, 'd', -ENOSPC, "od");
	expect_error(probe_many, 't', -EINVAL, "odt");
	expect_error(probe_many, 'm', -EPROTO, "odtm");
	expect_error(probe_many, 's', -EINTR, "odtmodtms");
}
