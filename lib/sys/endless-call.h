/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_ENDLESS_CALL_H
#define FASTPATH_ENDLESS_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * System calls in which a thread can sleep for as long as another user likes, and which no signal ends:
 * FIEMAP and SEEK_DATA wait for the lock of the file's inode. A watched thread that sleeps in such a call
 * can be given up. If the call returns after all, the thread stops there for ever. So it changes
 * nothing more; but the memory of the call, the stack included, must neither be freed nor used again.
 * Rests on proc(5); without /proc nothing is given up.
 */

/* How long a thread sleeps before it is given up; less after some were, as a user can hold many locks. */
#define ENDLESS_CALL_SECONDS 10
#define ENDLESS_CALL_SECONDS_LATER 1
#define ENDLESS_CALLS_BEFORE 3

/* Begins as zeros, and is never freed after the thread was given up. */
struct watched_thread {
	/* the number of calls begun and ended: odd during a call */
	atomic_ulong calls;
	pid_t tid;
	/* of the last look at the thread: the call and the sleep in which it was, and since when */
	unsigned long seen_calls;
	uint64_t seen_sleep;
	uint64_t seen_since_ns;
};

/* To be called by the thread itself. THREAD has to live as long as it. */
void watched_thread_start(struct watched_thread *thread);

/* Around such a call, on any thread. They leave errno alone. */
void endless_call_begin(void);
void endless_call_end(void);

/*
 * Whether the thread has been in one sleep of one call for that many SECONDS, as seen by all calls of
 * this function during that time. One in a second is enough.
 */
bool watched_thread_is_stuck(struct watched_thread *thread, unsigned int seconds);

/* After that. Returns false if the call has ended, and the thread goes on. */
bool watched_thread_give_up(struct watched_thread *thread);

#endif
