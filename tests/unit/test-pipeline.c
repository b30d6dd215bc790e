// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/endless-call.h"
#include "sys/pipeline.h"
#include "test.h"

#define ITEMS 400
/* has no processes */
#define OTHER_USER 54321

static const unsigned int thread_counts[] = { 0, 1, 2, 4, 9 };

struct worker {
	atomic_bool busy;
};

struct item {
	unsigned int number;
	unsigned int microseconds;
	bool worked;
};

/* What done() saw; its thread is the only one that looks. */
struct log {
	pthread_t thread;
	unsigned int done;
	bool wrong;
};

static atomic_uint workers_made, workers_freed, works;
/* the worker_new() that fails, counted from 1; 0: none */
static unsigned int failing_worker;
/* a worker used by two threads at once */
static atomic_bool worker_shared;

static int setup(void **state)
{
	(void)state;
	workers_made = 0;
	workers_freed = 0;
	works = 0;
	failing_worker = 0;
	worker_shared = false;
	srand(1);
	return 0;
}

static int worker_new(void **ret_worker)
{
	if (failing_worker && workers_made + 1 == failing_worker)
		return -EMFILE;
	*ret_worker = calloc(1, sizeof(struct worker));
	if (!*ret_worker)
		return -ENOMEM;
	workers_made++;
	return 0;
}

static void worker_free(void *worker)
{
	workers_freed++;
	free(worker);
}

static void work(void *data, void *worker_data)
{
	struct worker *worker = worker_data;
	struct item *item = data;

	if (atomic_exchange(&worker->busy, true))
		worker_shared = true;
	if (item->microseconds)
		usleep(item->microseconds);
	item->worked = true;
	works++;
	worker->busy = false;
}

static void done(void *data, void *log_data)
{
	struct item *item = data;
	struct log *log = log_data;

	if (item->number != log->done || !item->worked ||
	    !pthread_equal(pthread_self(), log->thread))
		log->wrong = true;
	log->done++;
	free(item);
}

static const struct pipeline_ops ops = {
	.work = work,
	.done = done,
	.worker_new = worker_new,
	.worker_free = worker_free,
};

static struct pipeline *start(struct log *log, unsigned int thread_count)
{
	struct pipeline *pipeline = NULL;

	*log = (struct log){ .thread = pthread_self() };
	assert_int_equal(pipeline_new(&pipeline, &ops, log, thread_count), 0);
	return pipeline;
}

static void push(struct pipeline *pipeline, unsigned int number, unsigned int microseconds)
{
	struct item *item = malloc(sizeof(*item));

	assert_non_null(item);
	*item = (struct item){ .number = number, .microseconds = microseconds };
	pipeline_push(pipeline, item);
}

static void assert_all_done(const struct log *log, unsigned int count)
{
	assert_int_equal(log->done, count);
	assert_int_equal(works, count);
	assert_false(log->wrong);
	assert_false(worker_shared);
}

static void assert_workers_freed(unsigned int thread_count)
{
	assert_int_equal(workers_made, thread_count ? thread_count : 1);
	assert_int_equal(workers_freed, workers_made);
}

TEST_WITH(test_order_with_random_work, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(thread_counts); i++) {
		struct pipeline *pipeline;
		struct log log;

		setup(state);
		pipeline = start(&log, thread_counts[i]);
		for (unsigned int number = 0; number < ITEMS; number++)
			push(pipeline, number, rand() % 3 ? 0 : rand() % 500);
		pipeline_flush(pipeline);
		assert_all_done(&log, ITEMS);
		pipeline_free(pipeline);
		assert_workers_freed(thread_counts[i]);
	}
}

TEST_WITH(test_first_item_is_the_slowest, setup, NULL)
{
	struct pipeline *pipeline;
	struct log log;

	pipeline = start(&log, 4);
	for (unsigned int number = 0; number < ITEMS; number++)
		push(pipeline, number, number ? 0 : 20000);
	pipeline_flush(pipeline);
	assert_all_done(&log, ITEMS);
	pipeline_free(pipeline);
}

TEST_WITH(test_flush_again_and_again, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(thread_counts); i++) {
		struct pipeline *pipeline;
		unsigned int number = 0;
		struct log log;

		setup(state);
		pipeline = start(&log, thread_counts[i]);
		pipeline_flush(pipeline);
		for (unsigned int round = 0; round < 40; round++) {
			for (unsigned int j = 0; j < round; j++)
				push(pipeline, number++, rand() % 100);
			pipeline_flush(pipeline);
			assert_all_done(&log, number);
		}
		pipeline_free(pipeline);
	}
}

TEST_WITH(test_free_with_items_under_way, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(thread_counts); i++) {
		struct pipeline *pipeline;
		struct log log;

		setup(state);
		pipeline = start(&log, thread_counts[i]);
		for (unsigned int number = 0; number < 7; number++)
			push(pipeline, number, 1000);
		pipeline_free(pipeline);
		assert_all_done(&log, 7);
		assert_workers_freed(thread_counts[i]);
	}
}

TEST_WITH(test_free_unused, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(thread_counts); i++) {
		struct log log;

		setup(state);
		pipeline_free(start(&log, thread_counts[i]));
		assert_all_done(&log, 0);
		assert_workers_freed(thread_counts[i]);
	}
	pipeline_free(NULL);
}

TEST_WITH(test_worker_that_cannot_be_made, setup, NULL)
{
	for (unsigned int failing = 1; failing <= 4; failing++) {
		struct pipeline *pipeline = NULL;
		struct log log;

		setup(state);
		failing_worker = failing;
		assert_int_equal(pipeline_new(&pipeline, &ops, &log, 4), -EMFILE);
		assert_null(pipeline);
		assert_int_equal(workers_made, failing - 1);
		assert_int_equal(workers_freed, workers_made);
	}

	setup(state);
	failing_worker = 1;
	assert_int_equal(pipeline_new(&(struct pipeline *){ NULL }, &ops, NULL, 0), -EMFILE);
}

static pthread_t first_worker;

static void note_thread(void *item, void *worker)
{
	(void)item;
	(void)worker;
	first_worker = pthread_self();
}

static void ignore(void *item, void *data)
{
	(void)item;
	(void)data;
}

/* Without threads, work is done where push() is called; with them, elsewhere. */
TEST_WITH(test_where_work_is_done, setup, NULL)
{
	static const struct pipeline_ops noting = {
		.work = note_thread,
		.done = ignore,
		.worker_new = worker_new,
		.worker_free = worker_free,
	};

	for (unsigned int thread_count = 0; thread_count <= 1; thread_count++) {
		struct pipeline *pipeline;

		assert_int_equal(pipeline_new(&pipeline, &noting, NULL, thread_count), 0);
		pipeline_push(pipeline, NULL);
		pipeline_flush(pipeline);
		assert_int_equal(!pthread_equal(first_worker, pthread_self()), thread_count);
		pipeline_free(pipeline);
	}
}

/* In a child that may have no other thread. Returns whether all is done nevertheless. */
static bool works_without_threads(void)
{
	static const struct rlimit one = { .rlim_cur = 1, .rlim_max = 1 };
	struct log log = { .thread = pthread_self() };
	struct pipeline *pipeline = NULL;

	if (setrlimit(RLIMIT_NPROC, &one) < 0 || (geteuid() == 0 && setuid(OTHER_USER) < 0))
		return false;
	if (pipeline_new(&pipeline, &ops, &log, 2) < 0)
		return false;
	for (unsigned int number = 0; number < ITEMS; number++)
		push(pipeline, number, 0);
	pipeline_free(pipeline);
	return log.done == ITEMS && !log.wrong && workers_freed == workers_made;
}

TEST_WITH(test_threads_that_cannot_start, setup, NULL)
{
	pid_t child = fork();
	int wait_status;

	if (child == 0)
		_exit(works_without_threads() ? EXIT_SUCCESS : EXIT_FAILURE);
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), EXIT_SUCCESS);
}

/* -- threads that are given up -- */

#define PARTS 4
#define LONG_WORK 1
#define STUCK_WORK 2

struct work_in_parts {
	unsigned int number;
	unsigned int part;
	unsigned int parts_done;
};

/* What the child of vfork() waits for: until it ends, the thread of its parent sleeps as in state D. */
static int release_ends[2];
static atomic_uint given_up_count;
static atomic_bool has_gone_on;

static void sleep_without_an_end(void)
{
	char byte;

	endless_call_begin();
	if (vfork() == 0) {
		close(release_ends[1]);
		_exit(read(release_ends[0], &byte, 1) != 0);
	}
	endless_call_end();
	has_gone_on = true;
}

/* In a call all the time, but awake now and then. */
static void work_for_long(void)
{
	endless_call_begin();
	sleep(ENDLESS_CALL_SECONDS + 3);
	endless_call_end();
}

static void work_in_parts(void *data, void *worker)
{
	struct work_in_parts *item = data;

	(void)worker;
	for (; item->part < PARTS; item->part++) {
		if (item->number == LONG_WORK && item->part == 1)
			work_for_long();
		if (item->number == STUCK_WORK && item->part % 2)
			sleep_without_an_end();
		item->parts_done++;
	}
}

static void leave_part(void *data, void *log_data)
{
	struct work_in_parts *item = data;
	const struct log *log = log_data;

	assert_int_equal(item->number, STUCK_WORK);
	assert_true(pthread_equal(pthread_self(), log->thread));
	item->part++;
	given_up_count++;
}

static void count_parts(void *data, void *log_data)
{
	const struct work_in_parts *item = data;
	struct log *log = log_data;

	assert_int_equal(item->number, log->done++);
	assert_int_equal(item->parts_done, item->number == STUCK_WORK ? PARTS - 2 : PARTS);
}

/* Two parts of one item sleep for ever; another item takes as long, and is not given up. */
TEST_WITH(test_threads_that_are_given_up, setup, NULL)
{
	static const struct pipeline_ops parts_ops = {
		.work = work_in_parts,
		.given_up = leave_part,
		.done = count_parts,
		.worker_new = worker_new,
		.worker_free = worker_free,
	};
	struct log log = { .thread = pthread_self() };
	struct work_in_parts items[8] = { 0 };
	struct pipeline *pipeline = NULL;

	given_up_count = 0;
	has_gone_on = false;
	assert_int_equal(pipe2(release_ends, O_CLOEXEC), 0);
	assert_int_equal(pipeline_new(&pipeline, &parts_ops, &log, 2), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(items); i++) {
		items[i].number = i;
		pipeline_push(pipeline, &items[i]);
	}
	pipeline_free(pipeline);
	assert_int_equal(log.done, ARRAY_SIZE(items));
	assert_int_equal(given_up_count, 2);
	assert_int_equal(workers_made, 4);
	assert_int_equal(workers_freed, 2);

	/* Their calls return now, and they go no further. */
	close(release_ends[1]);
	for (unsigned int i = 0; i < 2; i++)
		assert_true(wait(NULL) > 0);
	usleep(100000);
	assert_false(has_gone_on);
	close(release_ends[0]);
}
