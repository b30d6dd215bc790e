/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PIPELINE_H
#define FASTPATH_PIPELINE_H

#include "sys/cleanup.h"

struct pipeline_ops {
	/* on any thread; WORKER belongs to this thread, or to the caller's if there are no others */
	void (*work)(void *item, void *worker);
	/* on the caller's thread, in the order in which the items were pushed; owns the item */
	void (*done)(void *item, void *data);
	/* makes the data of a thread; returns 0 or a negative errno; both NULL if there is none */
	int (*worker_new)(void **ret_worker);
	void (*worker_free)(void *worker);
	/*
	 * A thread is given up since work() sleeps in an endless call: see endless-call.h. Called on the
	 * caller's thread, and takes the current part of ITEM out of it. Another thread calls work()
	 * with ITEM again and with another worker; the first worker is neither freed nor used again.
	 * NULL if no thread is given up.
	 */
	void (*given_up)(void *item, void *data);
};

struct pipeline;

/*
 * Runs work() on THREAD_COUNT threads, or on fewer if no more can be started (0: on the caller's),
 * and done() in order.
 * Returns 0, -ENOMEM, or the error of worker_new(). OPS must outlive the pipeline.
 */
int pipeline_new(struct pipeline **ret_pipeline, const struct pipeline_ops *ops, void *data,
		 unsigned int thread_count);

/* Waits for the threads. Items in progress are finished and passed to done(). */
void pipeline_free(struct pipeline *pipeline);
DEFINE_FREEP(pipeline_free, struct pipeline)

/* Adds ITEM. If too many items are in progress, waits and calls done(). */
void pipeline_push(struct pipeline *pipeline, void *item);

/* Waits until done() was called for every item. */
void pipeline_flush(struct pipeline *pipeline);

#endif
