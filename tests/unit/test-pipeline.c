// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/pipeline.h"
#include "test.h"

#define ITEMS 400

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

static const struct pipeline_ops ops = { work, done, worker_new, worker_free };

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

static void test_order_with_random_work(void **state)
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

static void test_first_item_is_the_slowest(void **state)
{
	struct pipeline *pipeline;
	struct log log;

	(void)state;
	pipeline = start(&log, 4);
	for (unsigned int number = 0; number < ITEMS; number++)
		push(pipeline, number, number ? 0 : 20000);
	pipeline_flush(pipeline);
	assert_all_done(&log, ITEMS);
	pipeline_free(pipeline);
}

static void test_flush_again_and_again(void **state)
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

static void test_free_with_items_under_way(void **state)
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

static void test_free_unused(void **state)
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

static void test_worker_that_cannot_be_made(void **state)
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
static void test_where_work_is_done(void **state)
{
	static const struct pipeline_ops noting = { note_thread, ignore, worker_new, worker_free };

	(void)state;
	for (unsigned int thread_count = 0; thread_count <= 1; thread_count++) {
		struct pipeline *pipeline;

		assert_int_equal(pipeline_new(&pipeline, &noting, NULL, thread_count), 0);
		pipeline_push(pipeline, NULL);
		pipeline_flush(pipeline);
		assert_int_equal(!pthread_equal(first_worker, pthread_self()), thread_count);
		pipeline_free(pipeline);
	}
}

static void test_usable_cpu_count(void **state)
{
	(void)state;
	assert_in_range(usable_cpu_count(), 1, sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_order_with_random_work, setup),
		cmocka_unit_test_setup(test_first_item_is_the_slowest, setup),
		cmocka_unit_test_setup(test_flush_again_and_again, setup),
		cmocka_unit_test_setup(test_free_with_items_under_way, setup),
		cmocka_unit_test_setup(test_free_unused, setup),
		cmocka_unit_test_setup(test_worker_that_cannot_be_made, setup),
		cmocka_unit_test_setup(test_where_work_is_done, setup),
		cmocka_unit_test(test_usable_cpu_count),
	};

	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
