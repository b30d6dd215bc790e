// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "fs/commit-counters.h"
#include "fsync/fsync-folder.h"
#include "probe/feature-probe.h"
#include "sys/clock.h"
#include "test.h"

#define DIRECTORY_FD 1000
#define FOLDER_FD 1001
/* what the fsync of an empty folder takes */
#define LEAST_NS 1000

/* A kernel, and what it was asked for. */
static struct {
	/* how much longer each fsync takes than the one before */
	uint64_t growth_ns;
	/* the first attempts in which a commit comes between */
	unsigned int commits;
	/* the fsync, counted from 1, at which a signal comes, and that fails; 0: none */
	unsigned int interrupted_at, fails_at;
	int removal_error;

	uint64_t now_ns;
	uint64_t generation;
	unsigned int fsyncs, attempts, removed, closed, touched;
} kernel;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_THREAD_CPUTIME_ID);
	now->tv_sec = kernel.now_ns / NANOSECONDS_PER_SECOND;
	now->tv_nsec = kernel.now_ns % NANOSECONDS_PER_SECOND;
	return 0;
}

int __wrap_fsync_folder_new(int parent_fd, struct fsync_folder *ret_folder, char *ret_left);
int __wrap_fsync_folder_new(int parent_fd, struct fsync_folder *ret_folder, char *ret_left)
{
	assert_int_equal(parent_fd, DIRECTORY_FD);
	assert_null(ret_left);
	*ret_folder = (struct fsync_folder){ .fd = FOLDER_FD };
	kernel.attempts++;
	kernel.fsyncs = 0;
	return 0;
}

int __wrap_fsync_folder_add(struct fsync_folder *folder);
int __wrap_fsync_folder_add(struct fsync_folder *folder)
{
	folder->file_count++;
	/* Making files is not to be timed. */
	kernel.now_ns += 77;
	return 0;
}

int __wrap_fsync_folder_sync(struct fsync_folder *folder, uint64_t *ret_nanoseconds);
int __wrap_fsync_folder_sync(struct fsync_folder *folder, uint64_t *ret_nanoseconds)
{
	(void)ret_nanoseconds;
	assert_true(folder->file_count);
	kernel.now_ns += LEAST_NS + kernel.fsyncs * kernel.growth_ns;
	if (++kernel.fsyncs == kernel.fails_at)
		return -EIO;
	if (kernel.fsyncs == 50 && kernel.attempts <= kernel.commits)
		kernel.generation++;
	return 0;
}

int __wrap_fsync_folder_touch(struct fsync_folder *folder);
int __wrap_fsync_folder_touch(struct fsync_folder *folder)
{
	assert_int_equal(folder->fd, FOLDER_FD);
	kernel.touched++;
	return 0;
}

int __wrap_fsync_folder_remove_next(struct fsync_folder *folder);
int __wrap_fsync_folder_remove_next(struct fsync_folder *folder)
{
	if (folder->file_count) {
		folder->file_count--;
		return 1;
	}
	kernel.removed++;
	return kernel.removal_error;
}

void __wrap_fsync_folder_close(struct fsync_folder *folder);
void __wrap_fsync_folder_close(struct fsync_folder *folder)
{
	(void)folder;
	kernel.closed++;
}

int __wrap_filesystem_commit(int fd);
int __wrap_filesystem_commit(int fd)
{
	assert_int_equal(fd, FOLDER_FD);
	kernel.generation++;
	return 0;
}

int __wrap_commit_counters_read_generation(int fd, struct commit_counters *counters);
int __wrap_commit_counters_read_generation(int fd, struct commit_counters *counters)
{
	assert_int_equal(fd, FOLDER_FD);
	counters->generation_known = true;
	counters->generation = kernel.generation;
	return 0;
}

int __wrap_probe_interrupted(struct interrupts *interrupts);
int __wrap_probe_interrupted(struct interrupts *interrupts)
{
	(void)interrupts;
	return kernel.interrupted_at && kernel.fsyncs == kernel.interrupted_at ? -EINTR : 0;
}

static int prepare(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	return 0;
}

static int probe(struct feature_cost *ret_cost)
{
	int ret = probe_log_dir(DIRECTORY_FD, NULL, ret_cost);

	/* Nothing is left behind, whatever it returns. */
	assert_int_equal(kernel.removed, kernel.attempts);
	assert_int_equal(kernel.closed, kernel.attempts);
	return ret;
}

TEST_WITH(test_flat, prepare, NULL)
{
	struct feature_cost cost = { 0 };

	assert_int_equal(probe(&cost), 0);
	assert_int_equal(cost.cost, LEAST_NS);
	assert_int_equal(cost.reference, LEAST_NS);
	assert_int_equal(kernel.attempts, 1);
	assert_int_equal(kernel.fsyncs, 100);
	assert_int_equal(kernel.touched, 1);
}

/* The medians of the last tenth and of the first. */
TEST_WITH(test_growth, prepare, NULL)
{
	struct feature_cost cost = { 0 };

	kernel.growth_ns = 20;
	assert_int_equal(probe(&cost), 0);
	assert_int_equal(kernel.fsyncs, 100);
	assert_int_equal(cost.reference, LEAST_NS + 5 * 20);
	assert_int_equal(cost.cost, LEAST_NS + 95 * 20);
}

/* It does not go on for long where each fsync takes longer and longer. */
TEST_WITH(test_growth_beyond_doubt, prepare, NULL)
{
	struct feature_cost cost = { 0 };

	kernel.growth_ns = 1000;
	assert_int_equal(probe(&cost), 0);
	/* the first ten have a median of 6 us; above 36 us are those from the 37th on */
	assert_int_equal(kernel.fsyncs, 46);
	assert_int_equal(cost.reference, 6000);
	assert_int_equal(cost.cost, 42000);
}

/* What was logged before a commit is not looked at again. */
TEST_WITH(test_commit_between, prepare, NULL)
{
	struct feature_cost cost = { 0 };

	kernel.commits = 2;
	assert_int_equal(probe(&cost), 0);
	assert_int_equal(kernel.attempts, 3);
	assert_int_equal(cost.reference, LEAST_NS);
}

TEST_WITH(test_commits_between_all, prepare, NULL)
{
	struct feature_cost cost = { 1, 1 };

	kernel.commits = 3;
	assert_int_equal(probe(&cost), 0);
	assert_int_equal(kernel.attempts, 3);
	assert_int_equal(cost.reference, 0);
}

TEST_WITH(test_interrupted, prepare, NULL)
{
	struct feature_cost cost = { 1, 2 };

	kernel.interrupted_at = 7;
	assert_int_equal(probe(&cost), -EINTR);
	assert_int_equal(kernel.fsyncs, 7);
	assert_int_equal(cost.cost, 1);
	assert_int_equal(cost.reference, 2);
}

TEST_WITH(test_errors, prepare, NULL)
{
	struct feature_cost cost;

	kernel.fails_at = 12;
	kernel.removal_error = -EBUSY;
	assert_int_equal(probe(&cost), -EIO);
	assert_int_equal(kernel.attempts, 1);
	kernel.fails_at = 0;
	assert_int_equal(probe(&cost), -EBUSY);
}
