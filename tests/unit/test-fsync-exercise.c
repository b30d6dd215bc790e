// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fsync/fsync-exercise.h"
#include "path/temporary-file.h"
#include "sys/clock.h"
#include "test.h"

#define FOLDER_FD 1001
/* what each fsync takes longer than the one before it */
#define STEP_NS 1000
#define COMMIT_MS 5
#define BLOCK 100
#define FILE_NS 50

enum call {
	CALL_ADD,
	CALL_MAKE,
	CALL_WRITE,
	CALL_SYNC,
	CALL_SYNC_FILE,
	CALL_REPLACE,
	CALL_NOCOW,
	CALL_COMMIT,
	CALL_READ,
	CALL_READ_GENERATION,
	CALL_COUNT
};

/* A kernel, and what it was asked for. */
static struct {
	/* each fsync commits the transaction */
	bool without_log;
	/* the call of this kind and number, from 1, fails; 0: none */
	enum call fails;
	unsigned int fails_at;

	uint64_t generation;
	uint64_t commits;
	/* the number of calls of each kind */
	unsigned int calls[CALL_COUNT];
	unsigned int sleeps;
	/* of the last write */
	uint64_t offset;
} kernel;

static struct fsync_exercise *exercise;
static struct interrupts held;

static int called(enum call call)
{
	return ++kernel.calls[call] == kernel.fails_at && kernel.fails == call ? -EIO : 0;
}

static void commit(void)
{
	kernel.commits++;
	kernel.generation++;
}

int __wrap_fsync_folder_add(struct fsync_folder *folder);
int __wrap_fsync_folder_add(struct fsync_folder *folder)
{
	int ret = called(CALL_ADD);

	if (ret == 0)
		folder->file_count++;
	return ret;
}

/* -- a file with data -- */

int __wrap_fsync_folder_make_data(struct fsync_folder *folder, const char *name);
int __wrap_fsync_folder_make_data(struct fsync_folder *folder, const char *name)
{
	int ret = called(CALL_MAKE);

	assert_string_equal(name, exercise->plan.workload == FSYNC_RENAME ? FSYNC_NEW_DATA_NAME :
									    FSYNC_DATA_NAME);
	(void)folder;
	return ret < 0 ? ret : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

int __wrap_inode_flags_set_nocow(int fd, bool nocow);
int __wrap_inode_flags_set_nocow(int fd, bool nocow)
{
	assert_int_equal(fd, exercise->data_fd);
	assert_true(nocow);
	return called(CALL_NOCOW);
}

int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset);
int __wrap_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	assert_int_equal(fd, exercise->data_fd);
	assert_ptr_equal(data, exercise->data);
	assert_int_equal(size, BLOCK);
	kernel.offset = offset;
	return called(CALL_WRITE);
}

int __wrap_fsync_timed(int fd, uint64_t *ret_nanoseconds);
int __wrap_fsync_timed(int fd, uint64_t *ret_nanoseconds)
{
	bool is_folder = fd == FOLDER_FD;
	int ret = called(is_folder ? CALL_SYNC : CALL_SYNC_FILE);

	if (!is_folder)
		assert_int_equal(fd, exercise->data_fd);
	if (ret < 0)
		return ret;
	*ret_nanoseconds = is_folder ? (uint64_t)kernel.calls[CALL_SYNC] * STEP_NS : FILE_NS;
	if (kernel.without_log) {
		*ret_nanoseconds += (COMMIT_MS + 1) * NANOSECONDS_PER_MILLISECOND;
		commit();
	}
	return 0;
}

int __wrap_fsync_folder_replace_data(struct fsync_folder *folder);
int __wrap_fsync_folder_replace_data(struct fsync_folder *folder)
{
	(void)folder;
	return called(CALL_REPLACE);
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	assert_int_equal(fd, exercise->data_fd);
	return 0;
}

/* -- */

int __wrap_fsync_folder_touch(struct fsync_folder *folder);
int __wrap_fsync_folder_touch(struct fsync_folder *folder)
{
	assert_int_equal(folder->fd, FOLDER_FD);
	return 0;
}

int __wrap_filesystem_commit(int fd);
int __wrap_filesystem_commit(int fd)
{
	int ret = called(CALL_COMMIT);

	assert_int_equal(fd, FOLDER_FD);
	if (ret == 0)
		commit();
	return ret;
}

int __wrap_commit_counters_read_generation(int fd, struct commit_counters *counters);
int __wrap_commit_counters_read_generation(int fd, struct commit_counters *counters)
{
	int ret = called(CALL_READ_GENERATION);

	assert_int_equal(fd, FOLDER_FD);
	if (ret < 0)
		return ret;
	counters->generation_known = true;
	counters->generation = kernel.generation;
	return 0;
}

int __wrap_commit_counters_read(const char *root, int fd, struct commit_counters *ret_counters);
int __wrap_commit_counters_read(const char *root, int fd, struct commit_counters *ret_counters)
{
	int ret = called(CALL_READ);

	assert_null(root);
	assert_int_equal(fd, FOLDER_FD);
	if (ret < 0)
		return ret;
	*ret_counters = (struct commit_counters){
		.generation_known = true,
		.stats_known = true,
		.generation = kernel.generation,
		.commits = kernel.commits,
		.last_commit_ms = COMMIT_MS,
		.max_commit_ms = COMMIT_MS,
		.total_commit_ms = kernel.commits * COMMIT_MS,
	};
	return 0;
}

int __wrap_interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds);
int __wrap_interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds)
{
	assert_null(interrupts);
	assert_int_equal(nanoseconds, 7);
	kernel.sleeps++;
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.generation = 100;
	exercise = calloc(1, sizeof(*exercise));
	assert_non_null(exercise);
	exercise->folder.fd = FOLDER_FD;
	exercise->plan = (struct fsync_plan){ .operations = 25, .every = 10 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fsync_exercise_free(exercise);
	free(exercise);
	return 0;
}

/* Goes on to the end or to an error. Returns the number of fsyncs, or the error. */
static int run(void)
{
	struct fsync_sample sample;
	int ret, fsyncs = 0;

	ret = fsync_exercise_prepare(exercise, &held);
	if (ret < 0)
		return ret;
	assert_int_equal(fsync_exercise_begin(exercise), 0);
	while (!fsync_exercise_is_done(exercise)) {
		ret = fsync_exercise_next(exercise, &sample);
		if (ret > 0) {
			fsyncs++;
			assert_int_equal(sample.operations, fsyncs * exercise->plan.every);
			assert_int_equal(sample.kind, kernel.without_log ? FSYNC_FULL : FSYNC_LOG);
			ret = fsync_exercise_pause(exercise, NULL);
		}
		if (ret < 0)
			return ret;
	}
	fsync_exercise_end(exercise);
	return fsyncs;
}

TEST_WITH(test_log, setup, teardown)
{
	assert_int_equal(run(), 2);
	assert_int_equal(exercise->done, 25);
	assert_int_equal(exercise->latency.count, 2);
	assert_int_equal(exercise->latency.total, 3 * STEP_NS);
	assert_int_equal(exercise->trend.count, 2);
	assert_int_equal(exercise->kinds[FSYNC_LOG].count, 2);
	assert_int_equal(exercise->kinds[FSYNC_LOG].total_ns, 3 * STEP_NS);
	assert_int_equal(exercise->kinds[FSYNC_LOG].max_ns, 2 * STEP_NS);
	assert_int_equal(exercise->kinds[FSYNC_FULL].count, 0);
	assert_int_equal(exercise->begin.commits, exercise->end.commits);
	assert_int_equal(kernel.calls[CALL_COMMIT] + kernel.sleeps, 0);
}

TEST_WITH(test_full, setup, teardown)
{
	kernel.without_log = true;
	assert_int_equal(run(), 2);
	assert_int_equal(exercise->kinds[FSYNC_FULL].count, 2);
	assert_int_equal(exercise->end.commits - exercise->begin.commits, 2);
}

/* Only where another fsync follows. */
TEST_WITH(test_pause, setup, teardown)
{
	exercise->plan.commits_between = true;
	exercise->plan.pause_ns = 7;
	assert_int_equal(run(), 2);
	assert_int_equal(kernel.calls[CALL_COMMIT], 1);
	assert_int_equal(kernel.sleeps, 1);
}

static void expect_failure(enum call call, unsigned int number, enum fsync_step step,
			   uint64_t fsyncs)
{
	teardown(NULL);
	setup(NULL);
	exercise->plan.commits_between = true;
	kernel.fails = call;
	kernel.fails_at = number;
	assert_int_equal(run(), -EIO);
	assert_int_equal(exercise->step, step);
	assert_int_equal(exercise->latency.count, fsyncs);
}

TEST_WITH(test_failures, setup, teardown)
{
	/* The first one is read before the first file. */
	expect_failure(CALL_READ, 2, FSYNC_STEP_EXAMINE, 0);
	expect_failure(CALL_ADD, 3, FSYNC_STEP_CREATE, 0);
	expect_failure(CALL_ADD, 10, FSYNC_STEP_CREATE, 0);
	expect_failure(CALL_READ_GENERATION, 2, FSYNC_STEP_SYNC, 0);
	expect_failure(CALL_SYNC, 1, FSYNC_STEP_SYNC, 0);
	expect_failure(CALL_SYNC, 2, FSYNC_STEP_SYNC, 1);
	expect_failure(CALL_READ, 3, FSYNC_STEP_SYNC, 0);
	expect_failure(CALL_COMMIT, 1, FSYNC_STEP_COMMIT, 1);
}

static void plan_data(enum fsync_workload workload, uint64_t every)
{
	exercise->plan.workload = workload;
	exercise->plan.every = every;
	exercise->plan.size = BLOCK;
	exercise->plan.nocow = true;
}

TEST_WITH(test_append, setup, teardown)
{
	plan_data(FSYNC_APPEND, 5);
	assert_int_equal(run(), 5);
	assert_int_equal(kernel.calls[CALL_WRITE], 25);
	assert_int_equal(kernel.offset, 24 * BLOCK);
	assert_int_equal(kernel.calls[CALL_MAKE], 1);
	assert_int_equal(kernel.calls[CALL_NOCOW], 1);
	assert_int_equal(kernel.calls[CALL_SYNC], 0);
	assert_int_equal(exercise->latency.total, 5 * FILE_NS);
}

TEST_WITH(test_overwrite, setup, teardown)
{
	plan_data(FSYNC_OVERWRITE, 5);
	assert_int_equal(run(), 5);
	assert_int_equal(kernel.calls[CALL_WRITE], FSYNC_BLOCKS + 25);
	assert_true(kernel.offset < FSYNC_BLOCKS * BLOCK && kernel.offset % BLOCK == 0);
	assert_int_equal(kernel.calls[CALL_SYNC_FILE], 5);
}

/* A file of many blocks takes long. */
TEST_WITH(test_signal_during_preparation, setup, teardown)
{
	plan_data(FSYNC_OVERWRITE, 5);
	/* It may be ignored where the tests run. */
	signal(SIGTERM, SIG_DFL);
	interrupts_hold(&held);
	raise(SIGTERM);
	assert_int_equal(fsync_exercise_prepare(exercise, &held), 0);
	assert_int_equal(kernel.calls[CALL_WRITE], 0);
	assert_int_equal(kernel.calls[CALL_SYNC_FILE], 0);
	interrupts_forget(&held);
	interrupts_release(&held);
	held = (struct interrupts){ 0 };
}

TEST_WITH(test_rename, setup, teardown)
{
	plan_data(FSYNC_RENAME, 1);
	assert_int_equal(run(), 25);
	assert_int_equal(kernel.calls[CALL_MAKE], 25);
	assert_int_equal(kernel.calls[CALL_NOCOW], 25);
	assert_int_equal(kernel.calls[CALL_SYNC_FILE], 25);
	assert_int_equal(kernel.calls[CALL_REPLACE], 25);
	assert_int_equal(kernel.calls[CALL_SYNC], 25);
	/* that of the file, and that of the directory, which takes longer each time */
	assert_int_equal(exercise->latency.total, 25 * FILE_NS + 25 * 26 / 2 * STEP_NS);
}

/* Two commits for each file. */
TEST_WITH(test_rename_without_log, setup, teardown)
{
	plan_data(FSYNC_RENAME, 1);
	kernel.without_log = true;
	assert_int_equal(run(), 25);
	assert_int_equal(exercise->kinds[FSYNC_FULL].count, 25);
	assert_int_equal(exercise->end.commits - exercise->begin.commits, 50);
}

static void expect_data_failure(enum fsync_workload workload, enum call call, unsigned int number,
				enum fsync_step step)
{
	teardown(NULL);
	setup(NULL);
	plan_data(workload, 1);
	kernel.fails = call;
	kernel.fails_at = number;
	assert_int_equal(run(), -EIO);
	assert_int_equal(exercise->step, step);
}

TEST_WITH(test_data_failures, setup, teardown)
{
	expect_data_failure(FSYNC_APPEND, CALL_MAKE, 1, FSYNC_STEP_CREATE);
	expect_data_failure(FSYNC_APPEND, CALL_NOCOW, 1, FSYNC_STEP_CREATE);
	expect_data_failure(FSYNC_APPEND, CALL_WRITE, 3, FSYNC_STEP_WRITE);
	expect_data_failure(FSYNC_APPEND, CALL_SYNC_FILE, 3, FSYNC_STEP_SYNC);
	expect_data_failure(FSYNC_OVERWRITE, CALL_WRITE, 3, FSYNC_STEP_WRITE);
	assert_int_equal(exercise->done, 0);
	expect_data_failure(FSYNC_OVERWRITE, CALL_WRITE, FSYNC_BLOCKS + 3, FSYNC_STEP_WRITE);
	assert_int_equal(exercise->done, 2);
	expect_data_failure(FSYNC_RENAME, CALL_MAKE, 3, FSYNC_STEP_CREATE);
	expect_data_failure(FSYNC_RENAME, CALL_SYNC_FILE, 3, FSYNC_STEP_SYNC);
	expect_data_failure(FSYNC_RENAME, CALL_REPLACE, 3, FSYNC_STEP_RENAME);
	expect_data_failure(FSYNC_RENAME, CALL_SYNC, 3, FSYNC_STEP_SYNC);
	assert_int_equal(exercise->latency.count, 2);
}

TEST_WITH(test_begin_failure, setup, teardown)
{
	kernel.fails = CALL_READ;
	kernel.fails_at = 1;
	assert_int_equal(fsync_exercise_begin(exercise), -EIO);
}
