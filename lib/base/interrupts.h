/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INTERRUPTS_H
#define FASTPATH_INTERRUPTS_H

#include <signal.h>
#include <stdint.h>

/*
 * Work that has to put things in order before it ends, whatever signal asks it to end: SIGINT,
 * SIGTERM, SIGHUP, SIGQUIT and SIGPIPE are remembered until they are asked for. One that is ignored
 * (nohup) or blocked stays so.
 *
 * Once such a signal has come, no call waits any more for anybody else, such as a reader of a full
 * pipe: it fails with EINTR, and so does each one after it that would wait. A timer (ITIMER_REAL,
 * SIGALRM) sees to that, so a signal that comes just before such a call is not missed. More signals
 * change nothing: the work puts things in order, and then ends.
 *
 * A process has one of these at a time. Rests on sigaction(2) without SA_RESTART, setitimer(2).
 */
#define INTERRUPT_COUNT 5

struct interrupts {
	struct sigaction before[INTERRUPT_COUNT];
	struct sigaction alarm_before;
	sigset_t mask_before;
	/* the first that came and was asked for, 0: none */
	int signal;
};

void interrupts_hold(struct interrupts *interrupts);

/* Returns the signal that came since, 0 if none did. */
int interrupts_pending(struct interrupts *interrupts);

/* Sleeps, less long where a signal comes. Returns it, 0 if none did. */
int interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds);

/* The signal that came was the end that was waited for: it does not end the program. */
void interrupts_forget(struct interrupts *interrupts);

/* Lets signals come as before; the first one that came since ends the program here. */
void interrupts_release(struct interrupts *interrupts);

#endif
