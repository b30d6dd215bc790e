/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INTERRUPTS_H
#define FASTPATH_INTERRUPTS_H

#include <signal.h>
#include <stdint.h>

/*
 * Holds signals during work that has to clean up before the program ends. SIGINT, SIGTERM, SIGHUP,
 * SIGQUIT, SIGPIPE, SIGXCPU, SIGUSR1 and SIGUSR2 are remembered until interrupts_pending() is
 * called. A signal that is ignored (nohup) or blocked stays ignored or blocked. From a soft
 * limit of CPU time on SIGXCPU comes every second, and at the hard limit SIGKILL.
 *
 * After such a signal no system call waits for another program, such as the reader of a full pipe:
 * it fails with EINTR, and so does every later call that would wait. A timer (ITIMER_REAL, SIGALRM)
 * interrupts the calls, so that a signal just before a call is not missed. More signals have no
 * effect: the work cleans up, and then the program ends.
 *
 * A process has one of these at a time. Rests on sigaction(2) without SA_RESTART, setitimer(2).
 */
#define INTERRUPT_COUNT 8

struct interrupts {
	struct sigaction before[INTERRUPT_COUNT];
	struct sigaction alarm_before;
	sigset_t mask_before;
	/* the first signal that interrupts_pending() has returned, 0: none */
	int signal;
};

void interrupts_hold(struct interrupts *interrupts);

/* Returns the first signal since interrupts_hold(), or 0. */
int interrupts_pending(struct interrupts *interrupts);

/* Sleeps until the time is over or a signal comes. Returns the signal, or 0. */
int interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds);

/* Drops the signal that came: interrupts_release() will not end the program by it. */
void interrupts_forget(struct interrupts *interrupts);

/* Ends the holding of signals. If a signal came, it ends the program now. */
void interrupts_release(struct interrupts *interrupts);

#endif
