/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INTERRUPTS_H
#define FASTPATH_INTERRUPTS_H

#include <signal.h>
#include <stdint.h>

/*
 * Work that has to put things in order before it ends, whatever signal asks it to end: SIGINT,
 * SIGTERM, SIGHUP, SIGQUIT and SIGPIPE wait until they are asked for. There are no handlers, so a
 * signal cannot be missed between two steps. One that is ignored (nohup) stays so.
 */
struct interrupts {
	sigset_t held;
	sigset_t mask_before;
	/* the first that came, 0: none */
	int signal;
};

void interrupts_hold(struct interrupts *interrupts);

/* Returns the signal that came since, 0 if none did. */
int interrupts_pending(struct interrupts *interrupts);

/* Sleeps, less long where a signal comes. Returns it, 0 if none did. */
int interrupts_sleep(struct interrupts *interrupts, uint64_t nanoseconds);

/* Lets signals come again; the one that was asked for and came ends the program here. */
void interrupts_release(struct interrupts *interrupts);

#endif
