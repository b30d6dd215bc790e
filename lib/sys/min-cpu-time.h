/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MIN_CPU_TIME_H
#define FASTPATH_MIN_CPU_TIME_H

#include <stdint.h>

/*
 * The minimum CPU time of several runs in this thread. The minimum is used because other work on
 * the machine can only make a run longer.
 */

/*
 * Call CALL with FD and DATA several times; for the first call little is cached.
 * Returns 0 with the minimum in nanoseconds, or the first negative number that CALL returns.
 */
int min_cpu_time_of(int (*call)(int fd, void *data), int fd, void *data, uint64_t *ret_ns);

/* The resolution of CPU time in ns. On some virtual machines it is the length of a tick. */
uint64_t min_cpu_time_step(void);

#endif
