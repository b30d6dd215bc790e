/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PIPELINE_H
#define FASTPATH_PIPELINE_H

struct pipeline_ops {
	/* on any thread; WORKER is that thread's own, or the caller's where there are no threads */
	void (*work)(void *item, void *worker);
	/* on the caller's thread, in the order in which the items were pushed; owns the item */
	void (*done)(void *item, void *data);
	/* a thread's own data; returns 0 or a negative errno */
	int (*worker_new)(void **ret_worker);
	void (*worker_free)(void *worker);
};

struct pipeline;

/*
 * Runs work() on THREAD_COUNT threads (0: on the caller's) and done() in order.
 * Returns 0, -ENOMEM, or what worker_new() and pthread_create() gave. OPS must outlive it.
 */
int pipeline_new(struct pipeline **ret_pipeline, const struct pipeline_ops *ops, void *data,
		 unsigned int thread_count);

/* Waits for the threads; what is still under way is finished and given to done(). */
void pipeline_free(struct pipeline *pipeline);
void pipeline_freep(struct pipeline **pipeline);

/* Hands ITEM over; waits, and calls done(), where too many are under way. */
void pipeline_push(struct pipeline *pipeline, void *item);

/* Waits until done() was called for everything that was pushed. */
void pipeline_flush(struct pipeline *pipeline);

/* How many threads this process may keep busy at once, at least 1. */
unsigned int usable_cpu_count(void);

#endif
