// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "sys/endless-call.h"
#include "sys/pipeline.h"

#define SLOTS_PER_THREAD 4

struct slot {
	void *item;
	bool finished;
};

struct pipeline_thread {
	struct pipeline *pipeline;
	void *worker;
	/* what it works on, or NULL */
	struct slot *slot;
	pthread_t id;
	bool is_started;
	struct watched_thread watched;
};

/*
 * Items have consecutive numbers: [done, taken) is with the threads or finished by them,
 * [taken, pushed) waits for one. Number N sits in slot N % slot_count.
 */
struct pipeline {
	const struct pipeline_ops *ops;
	void *data;
	pthread_mutex_t lock;
	pthread_cond_t work_ready;
	pthread_cond_t item_finished;
	struct slot *slots;
	unsigned long slot_count;
	unsigned long done;
	unsigned long taken;
	unsigned long pushed;
	bool closing;
	/* up to NULL; without any that runs, the first one has the worker of the caller's thread */
	struct pipeline_thread **threads;
	unsigned int thread_count;
	unsigned int given_up_count;
};

static struct slot *slot_of(struct pipeline *pipeline, unsigned long number)
{
	return &pipeline->slots[number % pipeline->slot_count];
}

/* Returns NULL if there is nothing to do any more. */
static struct slot *take_slot(struct pipeline *pipeline)
{
	while (pipeline->taken == pipeline->pushed && !pipeline->closing)
		pthread_cond_wait(&pipeline->work_ready, &pipeline->lock);
	return pipeline->taken == pipeline->pushed ? NULL : slot_of(pipeline, pipeline->taken++);
}

static void *thread_main(void *argument)
{
	struct pipeline_thread *thread = argument;
	struct pipeline *pipeline = thread->pipeline;

	watched_thread_start(&thread->watched);
	pthread_mutex_lock(&pipeline->lock);
	while (thread->slot || (thread->slot = take_slot(pipeline))) {
		pthread_mutex_unlock(&pipeline->lock);

		pipeline->ops->work(thread->slot->item, thread->worker);

		pthread_mutex_lock(&pipeline->lock);
		thread->slot->finished = true;
		thread->slot = NULL;
		pthread_cond_signal(&pipeline->item_finished);
	}
	pthread_mutex_unlock(&pipeline->lock);
	return NULL;
}

static void thread_free(struct pipeline_thread *thread)
{
	if (!thread)
		return;
	if (thread->worker)
		thread->pipeline->ops->worker_free(thread->worker);
	free(thread);
}

static int thread_new(struct pipeline *pipeline, struct pipeline_thread **ret_thread)
{
	struct pipeline_thread *thread = calloc(1, sizeof(*thread));
	int ret = 0;

	if (!thread)
		return -ENOMEM;
	thread->pipeline = pipeline;
	if (pipeline->ops->worker_new)
		ret = pipeline->ops->worker_new(&thread->worker);
	if (ret < 0) {
		free(thread);
		return ret;
	}
	*ret_thread = thread;
	return 0;
}

static bool thread_start(struct pipeline_thread *thread)
{
	thread->is_started = pthread_create(&thread->id, NULL, thread_main, thread) == 0;
	return thread->is_started;
}

static int start_threads(struct pipeline *pipeline, unsigned int thread_count)
{
	for (unsigned int i = 0; i < thread_count; i++) {
		int ret = thread_new(pipeline, &pipeline->threads[i]);

		if (ret < 0)
			return ret;
		/* No more are allowed: those that run do the work, or the caller's. */
		if (!thread_start(pipeline->threads[i]))
			return 0;
		pipeline->thread_count++;
	}
	return 0;
}

/* Of the clock that nobody can set. */
static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

int pipeline_new(struct pipeline **ret_pipeline, const struct pipeline_ops *ops, void *data,
		 unsigned int thread_count)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int ret = -ENOMEM;

	if (!pipeline)
		return -ENOMEM;
	pipeline->ops = ops;
	pipeline->data = data;
	pthread_mutex_init(&pipeline->lock, NULL);
	init_condition(&pipeline->work_ready);
	init_condition(&pipeline->item_finished);

	pipeline->slot_count = thread_count * SLOTS_PER_THREAD + 1;
	pipeline->slots = calloc(pipeline->slot_count, sizeof(*pipeline->slots));
	pipeline->threads = calloc(thread_count + 2, sizeof(struct pipeline_thread *));
	if (!pipeline->slots || !pipeline->threads)
		goto fail;

	ret = thread_count ? start_threads(pipeline, thread_count) :
			     thread_new(pipeline, &pipeline->threads[0]);
	if (ret < 0)
		goto fail;

	*ret_pipeline = pipeline;
	return 0;

fail:
	pipeline_free(pipeline);
	return ret;
}

/* -- threads that are given up -- */

/* Puts another one in the place of *THREAD, or does nothing without memory: then the next time. */
static void give_up(struct pipeline *pipeline, struct pipeline_thread **thread)
{
	struct pipeline_thread *stuck = *thread, *successor;

	if (thread_new(pipeline, &successor) < 0)
		return;
	if (!watched_thread_give_up(&stuck->watched)) {
		thread_free(successor);
		return;
	}
	pipeline->given_up_count++;
	pipeline->ops->given_up(stuck->slot->item, pipeline->data);
	successor->slot = stuck->slot;
	*thread = successor;
}

static void look_at_threads(struct pipeline *pipeline)
{
	unsigned int seconds = pipeline->given_up_count < ENDLESS_CALLS_BEFORE ?
				       ENDLESS_CALL_SECONDS :
				       ENDLESS_CALL_SECONDS_LATER;

	for (unsigned int i = 0; pipeline->ops->given_up && i < pipeline->thread_count; i++) {
		struct pipeline_thread **thread = &pipeline->threads[i];

		if (watched_thread_is_stuck(&(*thread)->watched, seconds))
			give_up(pipeline, thread);
		if (!(*thread)->is_started)
			thread_start(*thread);
	}
}

/* Wakes up from time to time. */
static void wait_for_item(struct pipeline *pipeline)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	if (pthread_cond_timedwait(&pipeline->item_finished, &pipeline->lock, &until) == ETIMEDOUT)
		look_at_threads(pipeline);
}

/* Gives the oldest item to done(). */
static void retire_one(struct pipeline *pipeline)
{
	struct slot *slot = slot_of(pipeline, pipeline->done);

	pthread_mutex_lock(&pipeline->lock);
	while (!slot->finished)
		wait_for_item(pipeline);
	slot->finished = false;
	pipeline->done++;
	pthread_mutex_unlock(&pipeline->lock);

	pipeline->ops->done(slot->item, pipeline->data);
}

void pipeline_push(struct pipeline *pipeline, void *item)
{
	if (!pipeline->thread_count) {
		pipeline->ops->work(item, pipeline->threads[0]->worker);
		pipeline->ops->done(item, pipeline->data);
		return;
	}

	if (pipeline->pushed - pipeline->done == pipeline->slot_count)
		retire_one(pipeline);

	pthread_mutex_lock(&pipeline->lock);
	slot_of(pipeline, pipeline->pushed++)->item = item;
	pthread_cond_signal(&pipeline->work_ready);
	pthread_mutex_unlock(&pipeline->lock);
}

void pipeline_flush(struct pipeline *pipeline)
{
	while (pipeline->done != pipeline->pushed)
		retire_one(pipeline);
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;

	pipeline_flush(pipeline);
	pthread_mutex_lock(&pipeline->lock);
	pipeline->closing = true;
	pthread_cond_broadcast(&pipeline->work_ready);
	pthread_mutex_unlock(&pipeline->lock);
	for (unsigned int i = 0; i < pipeline->thread_count; i++)
		pthread_join(pipeline->threads[i]->id, NULL);

	for (unsigned int i = 0; pipeline->threads && pipeline->threads[i]; i++)
		thread_free(pipeline->threads[i]);
	pthread_cond_destroy(&pipeline->item_finished);
	pthread_cond_destroy(&pipeline->work_ready);
	pthread_mutex_destroy(&pipeline->lock);
	free(pipeline->threads);
	free(pipeline->slots);
	free(pipeline);
}
