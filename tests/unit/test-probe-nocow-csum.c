// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <linux/fs.h>

#include <btrfs/ctree.h>

#include "../large-file.h"
#include "fs/inode-flags.h"
#include "path/temporary-file.h"
#include "probe/feature-measure.h"
#include "probe/probe-image.h"
#include "sys/min-cpu-time.h"
#include "test.h"

#define IMAGE_FD 1000
#define ROOT_FD 1001
#define NEW_ROOT_FD 1002

#define SMALL KIB(64)
#define LARGE MIB(32)

/* What the two checks take, and which step fails with ERROR: a letter of CALLS. */
static struct {
	uint64_t small_ns, large_ns;
	char failing;
	int error;
	/*
	 * new file, write, fsync, unmount, edit, interrupts, mount, open, addresses, and the two
	 * checks
	 */
	char calls[16];
	int fd;
	int mapped;
	/* What a write returns from the n-th on, counted from 1; EAGAIN before, or if n is 0. */
	unsigned int answer_from;
	ssize_t answer;
	int answer_errno;
	/* in the check that is under way */
	unsigned int writes;
	uint64_t size;
} kernel;

static int call(char name)
{
	kernel.calls[strlen(kernel.calls)] = name;
	return name == kernel.failing ? kernel.error : 0;
}

static int call_errno(char name)
{
	if (call(name) == 0)
		return 0;
	errno = -kernel.error;
	return -1;
}

int __wrap_openat(int fd, const char *path, int flags, ...) LARGE_FILE_SYMBOL("__wrap_openat");
int __wrap_openat(int fd, const char *path, int flags, ...)
{
	const bool is_new = flags & O_CREAT;

	assert_string_equal(path, "checksummed");
	assert_int_equal(fd, is_new ? ROOT_FD : NEW_ROOT_FD);
	assert_int_equal(flags, O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : O_DIRECT));
	if (call_errno(is_new ? 'n' : 'o') < 0)
		return -1;
	kernel.fd = open("/", O_PATH);
	return kernel.fd;
}

int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset);
int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	assert_int_equal(fd, kernel.fd);
	assert_non_null(data);
	assert_int_equal(size, LARGE);
	assert_int_equal(offset, 0);
	return call('w');
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	assert_int_equal(fd, kernel.fd);
	return call_errno('f');
}

int __wrap_probe_image_unmount(struct probe_image *image);
int __wrap_probe_image_unmount(struct probe_image *image)
{
	/* It would be busy. */
	assert_int_equal(fcntl(kernel.fd, F_GETFD), -1);
	image->root_fd = -1;
	return call('u');
}

int __wrap_image_inode_flags_edit(int image_fd, uint64_t tree_id, uint64_t inode, uint64_t flags);
int __wrap_image_inode_flags_edit(int image_fd, uint64_t tree_id, uint64_t inode, uint64_t flags)
{
	struct stat status;

	assert_int_equal(image_fd, IMAGE_FD);
	assert_int_equal(tree_id, BTRFS_FS_TREE_OBJECTID);
	assert_int_equal(stat("/", &status), 0);
	assert_int_equal(inode, status.st_ino);
	assert_int_equal(flags, INODE_NODATACOW | INODE_NODATASUM);
	return call('e');
}

int __wrap_probe_interrupted(struct interrupts *interrupts);
int __wrap_probe_interrupted(struct interrupts *interrupts)
{
	(void)interrupts;
	return call('i');
}

int __wrap_probe_image_mount(struct probe_image *image);
int __wrap_probe_image_mount(struct probe_image *image)
{
	image->root_fd = NEW_ROOT_FD;
	return call('m');
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
	LARGE_FILE_SYMBOL("__wrap_mmap");
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	static char data;

	(void)protection;
	assert_null(address);
	assert_int_equal(size, LARGE);
	assert_true(flags & MAP_ANONYMOUS);
	assert_int_equal(fd, -1);
	assert_int_equal(offset, 0);
	if (call_errno('a') < 0)
		return MAP_FAILED;
	kernel.mapped++;
	return &data;
}

int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size)
{
	assert_non_null(address);
	assert_int_equal(size, LARGE);
	kernel.mapped--;
	/* It may say so in the middle of an error. */
	errno = 0;
	return 0;
}

long __wrap_syscall(long number, int fd, const struct iovec *ranges, long count, long offset,
		    long offset_high, int flags);
long __wrap_syscall(long number, int fd, const struct iovec *ranges, long count, long offset,
		    long offset_high, int flags)
{
	assert_int_equal(number, SYS_pwritev2);
	assert_int_equal(fd, kernel.fd);
	assert_int_equal(count, 1);
	assert_int_equal(offset, 0);
	assert_int_equal(offset_high, 0);
	assert_int_equal(flags, RWF_NOWAIT);
	kernel.size = ranges->iov_len;
	errno = EAGAIN;
	if (++kernel.writes < kernel.answer_from || !kernel.answer_from)
		return -1;
	errno = kernel.answer_errno;
	return kernel.answer;
}

int __wrap_min_cpu_time_of(int (*timed)(int fd, void *data), int fd, void *data, uint64_t *ret_ns);
int __wrap_min_cpu_time_of(int (*timed)(int fd, void *data), int fd, void *data, uint64_t *ret_ns)
{
	int ret;

	kernel.writes = 0;
	ret = timed(fd, data);
	*ret_ns = kernel.size == SMALL ? kernel.small_ns : kernel.large_ns;
	return ret < 0 ? ret : call(kernel.size == SMALL ? 'S' : 'L');
}

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	return 0;
}

static int probe(struct feature_cost *ret_cost)
{
	struct probe_image image = { .file_fd = IMAGE_FD, .root_fd = ROOT_FD };
	int ret;

	memset(kernel.calls, 0, sizeof(kernel.calls));
	kernel.fd = -1;
	ret = probe_nocow_csum(&image, NULL, ret_cost);
	assert_int_equal(fcntl(kernel.fd, F_GETFD), -1);
	assert_int_equal(kernel.mapped, 0);
	return ret;
}

static void expect_cost(uint64_t small_ns, uint64_t large_ns, enum feature_state state)
{
	struct feature_cost cost;

	kernel.small_ns = small_ns;
	kernel.large_ns = large_ns;
	assert_int_equal(probe(&cost), 0);
	assert_string_equal(kernel.calls, "nwfueimoaSL");
	assert_int_equal(cost.cost, large_ns);
	assert_int_equal(cost.reference, small_ns);
	assert_int_equal(kernel.size, LARGE);
	/* One is too short for the clock. */
	assert_true(kernel.writes >= 100);
	assert_int_equal(feature_cost_judge(&feature_probes[FEATURE_NOCOW_CSUM], &cost), state);
}

TEST_WITH(test_cost, setup, NULL)
{
	expect_cost(1000, 900, FEATURE_PRESENT);
	expect_cost(1000, 1499, FEATURE_PRESENT);
	expect_cost(1000, 1500, FEATURE_UNKNOWN);
	expect_cost(1000, 2000, FEATURE_UNKNOWN);
	expect_cost(1000, 2010, FEATURE_ABSENT);
	expect_cost(0, 1000, FEATURE_UNKNOWN);
}

static void expect_error(char failing, int error, const char *calls)
{
	struct feature_cost cost;

	kernel.failing = failing;
	kernel.error = error;
	assert_int_equal(probe(&cost), error);
	assert_string_equal(kernel.calls, calls);
}

TEST_WITH(test_errors, setup, NULL)
{
	expect_error('n', -EROFS, "n");
	expect_error('w', -ENOSPC, "nw");
	expect_error('f', -EIO, "nwf");
	expect_error('u', -EBUSY, "nwfu");
	expect_error('e', -ENOENT, "nwfue");
	expect_error('i', -EINTR, "nwfuei");
	expect_error('m', -EPERM, "nwfueim");
	expect_error('o', -EINVAL, "nwfueimoa");
	expect_error('a', -ENOMEM, "nwfueimoa");
	expect_error('S', -EPROTO, "nwfueimoaS");
	expect_error('L', -EPROTO, "nwfueimoaSL");
}

static void expect_answer(ssize_t answer, int error, unsigned int from, int expected)
{
	struct feature_cost cost;

	kernel.answer = answer;
	kernel.answer_errno = error;
	kernel.answer_from = from;
	assert_int_equal(probe(&cost), expected);
	assert_string_equal(kernel.calls, "nwfueimoa");
	assert_int_equal(kernel.size, SMALL);
	/* None after it. */
	assert_int_equal(kernel.writes, from);
}

/* Whatever else such a write comes to was no check. */
TEST_WITH(test_answers, setup, NULL)
{
	expect_answer(SMALL, 0, 1, -EPROTO);
	expect_answer(0, 0, 1, -EPROTO);
	expect_answer(4096, 0, 7, -EPROTO);
	expect_answer(-1, EOPNOTSUPP, 1, -EOPNOTSUPP);
	expect_answer(-1, EINTR, 100, -EINTR);
}
