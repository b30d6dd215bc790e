/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FORKED_WORK_H
#define FASTPATH_FORKED_WORK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Work that writes what it found to ANSWER. */
typedef void forked_work(void *data, FILE *answer);

/*
 * Call WORK with DATA in a copy of this process, which can be given up if it hangs, in a system call for
 * example. After NANOSECONDS the copy gets SIGTERM, and if that does not end it within
 * FORKED_WORK_GRACE_NS, SIGKILL; one that cannot be killed is left behind. If this process ends, the
 * copy gets SIGTERM. This process must have one thread.
 * Returns 0 with the answer, which the caller frees; -ETIMEDOUT; -ECHILD if the copy ended by itself and
 * before WORK returned; or another negative errno. Rests on fork(2) and prctl(2).
 */
int forked_work_run(forked_work *work, void *data, uint64_t nanoseconds, char **ret_answer,
		    size_t *ret_size);

#define FORKED_WORK_GRACE_NS (5 * UINT64_C(1000000000))

#endif
