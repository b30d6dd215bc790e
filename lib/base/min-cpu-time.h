/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MIN_CPU_TIME_H
#define FASTPATH_MIN_CPU_TIME_H

#include <stdint.h>

/*
 * Times of the processor on behalf of this thread, the least of several: whatever else happens on
 * the machine only adds to one.
 */

/*
 * Call CALL with FD and DATA several times; the first one finds little cached.
 * Returns 0 with nanoseconds, or the first negative number that CALL returns.
 */
int min_cpu_time_of(int (*call)(int fd, void *data), int fd, void *data, uint64_t *ret_ns);

/* The step in which the kernel counts such times, in ns. Some virtual machines have ticks. */
uint64_t min_cpu_time_step(void);

#endif
