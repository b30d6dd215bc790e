// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfsutil.h>

#include "probe/feature-measure.h"
#include "sharing/fiemap-timing.h"
#include "sys/min-cpu-time.h"
#include "test.h"

/* The library fails and says nothing in errno. */
#define NO_REASON INT_MIN

/*
 * The kernel's subvolumes are directories here, in one that must be empty after each run. A step
 * fails with ERROR: a letter of CALLS.
 */
static struct {
	uint64_t map_ns, all_ns;
	char failing;
	int error;
	/*
	 * create, write and write in between, snapshot, interrupts, new iterator, map, map all; then
	 * what is removed, from the inside to the outside: 1 to 4
	 */
	char calls[16];
	int directory_fd, file_fd;
	unsigned int iterators;
	/* what the last call took */
	uint64_t elapsed;
} kernel;

static int call(char name)
{
	kernel.calls[strlen(kernel.calls)] = name;
	return name == kernel.failing ? kernel.error : 0;
}

static enum btrfs_util_error make(char name, int parent_fd, const char *path,
				  enum btrfs_util_error error)
{
	if (call(name) < 0) {
		if (kernel.error != NO_REASON)
			errno = -kernel.error;
		return error;
	}
	assert_int_equal(mkdirat(parent_fd, path, 0700), 0);
	return BTRFS_UTIL_OK;
}

enum btrfs_util_error __wrap_btrfs_util_create_subvolume_fd(
	int parent_fd, const char *name, int flags, uint64_t *unused,
	struct btrfs_util_qgroup_inherit *inherit);
enum btrfs_util_error __wrap_btrfs_util_create_subvolume_fd(
	int parent_fd, const char *name, int flags, uint64_t *unused,
	struct btrfs_util_qgroup_inherit *inherit)
{
	(void)unused;
	(void)inherit;
	assert_int_equal(parent_fd, kernel.directory_fd);
	assert_int_equal(flags, 0);
	return make('c', parent_fd, name, BTRFS_UTIL_ERROR_SUBVOL_CREATE_FAILED);
}

enum btrfs_util_error __wrap_btrfs_util_create_snapshot_fd2(
	int fd, int parent_fd, const char *name, int flags, uint64_t *unused,
	struct btrfs_util_qgroup_inherit *inherit);
enum btrfs_util_error __wrap_btrfs_util_create_snapshot_fd2(
	int fd, int parent_fd, const char *name, int flags, uint64_t *unused,
	struct btrfs_util_qgroup_inherit *inherit)
{
	enum btrfs_util_error error;
	int snapshot_fd;

	(void)unused;
	(void)inherit;
	assert_int_equal(fd, parent_fd);
	/* What is in a read-only one could not be removed. */
	assert_int_equal(flags, 0);
	error = make('s', parent_fd, name, BTRFS_UTIL_ERROR_SNAP_CREATE_FAILED);
	if (error)
		return error;
	snapshot_fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY);
	close(openat(snapshot_fd, "extents", O_WRONLY | O_CREAT, 0600));
	close(snapshot_fd);
	return BTRFS_UTIL_OK;
}

int __wrap_probe_write_every_other(int fd, unsigned int first, unsigned int count);
int __wrap_probe_write_every_other(int fd, unsigned int first, unsigned int count)
{
	assert_true(count > 1);
	assert_true(first <= 1);
	kernel.file_fd = fd;
	return call(first ? 'W' : 'w');
}

int __wrap_probe_interrupted(struct interrupts *interrupts);
int __wrap_probe_interrupted(struct interrupts *interrupts)
{
	(void)interrupts;
	return call('i');
}

int __real_fiemap_iter_new(struct fiemap_iter **ret_iter);
int __wrap_fiemap_iter_new(struct fiemap_iter **ret_iter);
int __wrap_fiemap_iter_new(struct fiemap_iter **ret_iter)
{
	int ret = call('n');

	if (ret == 0)
		ret = __real_fiemap_iter_new(ret_iter);
	kernel.iterators += ret == 0;
	return ret;
}

void __real_fiemap_iter_free(struct fiemap_iter *iter);
void __wrap_fiemap_iter_free(struct fiemap_iter *iter);
void __wrap_fiemap_iter_free(struct fiemap_iter *iter)
{
	kernel.iterators -= iter != NULL;
	__real_fiemap_iter_free(iter);
}

int __wrap_fiemap_count(int fd, struct byte_range range, uint32_t *ret_count);
int __wrap_fiemap_count(int fd, struct byte_range range, uint32_t *ret_count)
{
	assert_int_equal(fd, kernel.file_fd);
	assert_int_equal(range.offset, 0);
	assert_int_equal(range.length, WHOLE_FILE.length);
	*ret_count = 1;
	kernel.elapsed = kernel.map_ns;
	return call('m');
}

int __wrap_fiemap_timing_once(struct fiemap_iter *iter, int fd, struct byte_range range,
			      uint64_t *ret_ns);
int __wrap_fiemap_timing_once(struct fiemap_iter *iter, int fd, struct byte_range range,
			      uint64_t *ret_ns)
{
	assert_non_null(iter);
	assert_int_equal(fd, kernel.file_fd);
	assert_int_equal(range.offset, 0);
	assert_int_equal(range.length, WHOLE_FILE.length);
	/* of the clock on the wall */
	*ret_ns = 77;
	kernel.elapsed = kernel.all_ns;
	return call('a');
}

int __wrap_min_cpu_time_of(int (*timed)(int fd, void *data), int fd, void *data, uint64_t *ret_ns);
int __wrap_min_cpu_time_of(int (*timed)(int fd, void *data), int fd, void *data, uint64_t *ret_ns)
{
	int ret = timed(fd, data);

	*ret_ns = kernel.elapsed;
	return ret;
}

static const char *const removed[] = { "snapshot/extents", "snapshot", "extents", "subvolume" };

int __real_probe_remove(int directory_fd, const char *name, int flags);
int __wrap_probe_remove(int directory_fd, const char *name, int flags);
int __wrap_probe_remove(int directory_fd, const char *name, int flags)
{
	int ret = -EINVAL;

	for (size_t i = 0; i < ARRAY_SIZE(removed); i++)
		if (!strcmp(name, removed[i]))
			ret = call('1' + i);
	return ret < 0 ? ret : __real_probe_remove(directory_fd, name, flags);
}

/* What a removal that failed left; returns whether there was anything. */
static bool clean_up(void)
{
	const bool is_left = faccessat(kernel.directory_fd, "subvolume", F_OK, 0) == 0;

	unlinkat(kernel.directory_fd, "subvolume/snapshot/extents", 0);
	unlinkat(kernel.directory_fd, "subvolume/snapshot", AT_REMOVEDIR);
	unlinkat(kernel.directory_fd, "subvolume/extents", 0);
	unlinkat(kernel.directory_fd, "subvolume", AT_REMOVEDIR);
	return is_left;
}

/* The next descriptor that is to be had: it moves where one is left open. */
static int next_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static int probe(struct feature_cost *ret_cost)
{
	char directory[] = "/tmp/btrfs-fastpath-test.XXXXXX";
	const bool removes = !kernel.failing || !strchr("1234", kernel.failing);
	int next, ret;

	memset(kernel.calls, 0, sizeof(kernel.calls));
	assert_non_null(mkdtemp(directory));
	kernel.directory_fd = open(directory, O_RDONLY | O_DIRECTORY);
	next = next_descriptor();
	ret = probe_fiemap_leaf(kernel.directory_fd, NULL, ret_cost);
	assert_int_equal(next_descriptor(), next);
	assert_int_equal(kernel.iterators, 0);
	assert_int_equal(clean_up(), !removes);
	close(kernel.directory_fd);
	assert_int_equal(rmdir(directory), 0);
	return ret;
}

static void expect_cost(uint64_t map_ns, uint64_t all_ns, uint64_t cost_ns,
			enum feature_state state)
{
	struct feature_cost cost;

	kernel.failing = 0;
	kernel.map_ns = map_ns;
	kernel.all_ns = all_ns;
	assert_int_equal(probe(&cost), 0);
	assert_string_equal(kernel.calls, "cwWsinma1234");
	assert_int_equal(cost.cost, cost_ns);
	assert_int_equal(cost.reference, map_ns);
	assert_int_equal(feature_cost_judge(&feature_probes[FEATURE_FIEMAP_LEAF], &cost), state);
}

/* What mapping all takes longer than mapping without a look at who shares. */
TEST(test_cost)
{
	expect_cost(100, 499, 399, FEATURE_PRESENT);
	expect_cost(100, 500, 400, FEATURE_UNKNOWN);
	expect_cost(100, 900, 800, FEATURE_UNKNOWN);
	expect_cost(100, 901, 801, FEATURE_ABSENT);
	/* nothing, and not a lot */
	expect_cost(100, 90, 0, FEATURE_PRESENT);
	/* a clock that stood still */
	expect_cost(0, 100, 100, FEATURE_UNKNOWN);
}

static void expect_error(char failing, int error, const char *calls)
{
	struct feature_cost cost = { 1, 2 };

	kernel.failing = failing;
	kernel.error = error;
	errno = EEXIST;
	assert_int_equal(probe(&cost), error == NO_REASON ? -EIO : error);
	assert_string_equal(kernel.calls, calls);
}

/* What was made is removed, and only that. */
TEST(test_errors)
{
	expect_error('c', -EPERM, "c");
	expect_error('c', NO_REASON, "c");
	expect_error('w', -ENOSPC, "cw34");
	expect_error('W', -EDQUOT, "cwW34");
	expect_error('s', -EROFS, "cwWs34");
	expect_error('i', -EINTR, "cwWsi1234");
	expect_error('n', -ENOMEM, "cwWsin1234");
	expect_error('m', -EOPNOTSUPP, "cwWsinm1234");
	expect_error('a', -EPROTO, "cwWsinma1234");
}

/* The first one is told, and what does not depend on it is removed nevertheless. */
TEST(test_removal_errors)
{
	expect_error('1', -EIO, "cwWsinma134");
	expect_error('2', -EPERM, "cwWsinma1234");
	expect_error('3', -EACCES, "cwWsinma1234");
	expect_error('4', -EBUSY, "cwWsinma1234");
}
