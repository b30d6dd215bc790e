// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/pipeline.h"

#define SLOTS_PER_THREAD 4

struct slot {
	void *item;
	bool finished;
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
	pthread_t *threads;
	unsigned int thread_count;
	void **workers;
	unsigned int worker_count;
	unsigned int workers_claimed;
};

static struct slot *slot_of(struct pipeline *pipeline, unsigned long number)
{
	return &pipeline->slots[number % pipeline->slot_count];
}

static void *thread_main(void *argument)
{
	struct pipeline *pipeline = argument;
	void *worker;

	pthread_mutex_lock(&pipeline->lock);
	worker = pipeline->workers[pipeline->workers_claimed++];
	for (;;) {
		struct slot *slot;

		while (pipeline->taken == pipeline->pushed && !pipeline->closing)
			pthread_cond_wait(&pipeline->work_ready, &pipeline->lock);
		if (pipeline->taken == pipeline->pushed)
			break;
		slot = slot_of(pipeline, pipeline->taken++);
		pthread_mutex_unlock(&pipeline->lock);

		pipeline->ops->work(slot->item, worker);

		pthread_mutex_lock(&pipeline->lock);
		slot->finished = true;
		pthread_cond_signal(&pipeline->item_finished);
	}
	pthread_mutex_unlock(&pipeline->lock);
	return NULL;
}

static int add_worker(struct pipeline *pipeline)
{
	int ret = pipeline->ops->worker_new(&pipeline->workers[pipeline->worker_count]);

	if (ret < 0)
		return ret;
	pipeline->worker_count++;
	return 0;
}

static int start_threads(struct pipeline *pipeline, unsigned int thread_count)
{
	for (unsigned int i = 0; i < thread_count; i++) {
		int ret = add_worker(pipeline);

		if (ret < 0)
			return ret;
		ret = pthread_create(&pipeline->threads[i], NULL, thread_main, pipeline);
		if (ret)
			return -ret;
		pipeline->thread_count++;
	}
	return 0;
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
	pthread_cond_init(&pipeline->work_ready, NULL);
	pthread_cond_init(&pipeline->item_finished, NULL);

	pipeline->slot_count = thread_count * SLOTS_PER_THREAD + 1;
	pipeline->slots = calloc(pipeline->slot_count, sizeof(*pipeline->slots));
	pipeline->threads = calloc(thread_count + 1, sizeof(*pipeline->threads));
	pipeline->workers = calloc(thread_count + 1, sizeof(*pipeline->workers));
	if (!pipeline->slots || !pipeline->threads || !pipeline->workers)
		goto fail;

	ret = thread_count ? start_threads(pipeline, thread_count) : add_worker(pipeline);
	if (ret < 0)
		goto fail;

	*ret_pipeline = pipeline;
	return 0;

fail:
	pipeline_free(pipeline);
	return ret;
}

/* Gives the oldest item to done(). */
static void retire_one(struct pipeline *pipeline)
{
	struct slot *slot = slot_of(pipeline, pipeline->done);

	pthread_mutex_lock(&pipeline->lock);
	while (!slot->finished)
		pthread_cond_wait(&pipeline->item_finished, &pipeline->lock);
	slot->finished = false;
	pipeline->done++;
	pthread_mutex_unlock(&pipeline->lock);

	pipeline->ops->done(slot->item, pipeline->data);
}

void pipeline_push(struct pipeline *pipeline, void *item)
{
	if (!pipeline->thread_count) {
		pipeline->ops->work(item, pipeline->workers[0]);
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
		pthread_join(pipeline->threads[i], NULL);

	for (unsigned int i = 0; i < pipeline->worker_count; i++)
		pipeline->ops->worker_free(pipeline->workers[i]);
	pthread_cond_destroy(&pipeline->item_finished);
	pthread_cond_destroy(&pipeline->work_ready);
	pthread_mutex_destroy(&pipeline->lock);
	free(pipeline->workers);
	free(pipeline->threads);
	free(pipeline->slots);
	free(pipeline);
}

void pipeline_freep(struct pipeline **pipeline)
{
	pipeline_free(*pipeline);
}

unsigned int usable_cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return CPU_COUNT(&set);
}
