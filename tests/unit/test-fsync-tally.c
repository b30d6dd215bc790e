// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "fsync/fsync-tally.h"
#include "test.h"

static struct fsync_tally *tally;
static struct traced_call call;

static int setup(void **state)
{
	(void)state;
	return fsync_tally_new(&tally);
}

static int teardown(void **state)
{
	(void)state;
	fsync_tally_free(tally);
	return 0;
}

/* The next event, which completes a call or not. */
static int add(enum fsync_event_type type, pid_t tid, uint64_t at_ns)
{
	const struct fsync_event event = {
		.at_ns = at_ns,
		.type = type,
		.tid = tid,
		.subvolid = 5,
		.inode = at_ns,
		.directory = 256,
	};

	return fsync_tally_add(tally, &event, &call);
}

static void expect_fsync(pid_t tid, uint64_t inode, enum fsync_kind kind)
{
	assert_true(call.is_fsync);
	assert_int_equal(call.tid, tid);
	assert_int_equal(call.subvolid, 5);
	assert_int_equal(call.inode, inode);
	assert_int_equal(call.directory, 256);
	assert_int_equal(call.kind, kind);
}

TEST_WITH(test_log, setup, teardown)
{
	assert_int_equal(add(FSYNC_EVENT_BEGIN, 1, 100), 0);
	assert_int_equal(add(FSYNC_EVENT_END, 1, 150), 1);
	expect_fsync(1, 100, FSYNC_LOG);
	assert_false(call.has_committed);
	assert_true(call.has_time);
	assert_int_equal(call.time_ns, 50);
	/* the end of an fsync of another file system */
	assert_int_equal(add(FSYNC_EVENT_END, 1, 160), 0);
	assert_int_equal(add(FSYNC_EVENT_EXIT, 1, 170), 0);
}

TEST_WITH(test_commit_by_its_thread, setup, teardown)
{
	add(FSYNC_EVENT_BEGIN, 1, 100);
	assert_int_equal(add(FSYNC_EVENT_COMMIT, 1, 120), 0);
	assert_int_equal(add(FSYNC_EVENT_END, 1, 150), 1);
	expect_fsync(1, 100, FSYNC_FULL);
	assert_true(call.has_committed);
}

TEST_WITH(test_commit_by_another_thread, setup, teardown)
{
	add(FSYNC_EVENT_BEGIN, 1, 100);
	assert_int_equal(add(FSYNC_EVENT_COMMIT, 2, 120), 1);
	assert_false(call.is_fsync);
	assert_int_equal(call.tid, 2);
	assert_true(call.has_committed);
	assert_int_equal(add(FSYNC_EVENT_END, 1, 150), 1);
	expect_fsync(1, 100, FSYNC_UNCERTAIN);
	assert_false(call.has_committed);
}

TEST_WITH(test_commit_before_it, setup, teardown)
{
	add(FSYNC_EVENT_COMMIT, 1, 90);
	add(FSYNC_EVENT_BEGIN, 1, 100);
	assert_int_equal(add(FSYNC_EVENT_END, 1, 150), 1);
	expect_fsync(1, 100, FSYNC_LOG);
}

/* Writes with O_SYNC: the end of the system call is not traced. */
TEST_WITH(test_fsync_without_an_end, setup, teardown)
{
	add(FSYNC_EVENT_BEGIN, 1, 100);
	assert_int_equal(add(FSYNC_EVENT_BEGIN, 1, 200), 1);
	expect_fsync(1, 100, FSYNC_LOG);
	assert_false(call.has_time);
	add(FSYNC_EVENT_COMMIT, 1, 210);
	assert_int_equal(add(FSYNC_EVENT_EXIT, 1, 300), 1);
	expect_fsync(1, 200, FSYNC_FULL);
	assert_false(call.has_time);
	assert_int_equal(call.time_ns, 0);
}

/* Neither the time nor the commit of the next call is that of a write with O_SYNC. */
TEST_WITH(test_fsync_before_another_call, setup, teardown)
{
	add(FSYNC_EVENT_BEGIN, 1, 100);
	assert_int_equal(add(FSYNC_EVENT_CALL, 1, 9000), 1);
	expect_fsync(1, 100, FSYNC_LOG);
	assert_false(call.has_time);
	assert_int_equal(add(FSYNC_EVENT_COMMIT, 1, 9100), 1);
	assert_false(call.is_fsync);
	assert_int_equal(add(FSYNC_EVENT_END, 1, 9200), 0);
}

TEST_WITH(test_threads_at_the_same_time, setup, teardown)
{
	for (pid_t tid = 1; tid <= 100; tid++)
		assert_int_equal(add(FSYNC_EVENT_BEGIN, tid * 37 % 101, 1000 + tid), 0);
	for (pid_t tid = 100; tid >= 1; tid--) {
		assert_int_equal(add(FSYNC_EVENT_END, tid * 37 % 101, 3000 - tid), 1);
		expect_fsync(tid * 37 % 101, 1000 + tid, FSYNC_LOG);
		assert_int_equal(call.time_ns, 2000 - 2 * tid);
	}
}

TEST_WITH(test_too_many_threads, setup, teardown)
{
	for (pid_t tid = 0; tid <= FSYNC_TALLY_THREADS_MAX; tid++)
		assert_int_equal(add(FSYNC_EVENT_BEGIN, FSYNC_TALLY_THREADS_MAX - tid, 1000 + tid),
				 0);
	/* the first one was given up, and no other */
	assert_int_equal(add(FSYNC_EVENT_END, FSYNC_TALLY_THREADS_MAX, 9000), 0);
	for (pid_t tid = 1; tid <= FSYNC_TALLY_THREADS_MAX; tid++)
		assert_int_equal(add(FSYNC_EVENT_END, FSYNC_TALLY_THREADS_MAX - tid, 9000), 1);
}
