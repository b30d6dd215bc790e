/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROCESS_COPY_H
#define FASTPATH_PROCESS_COPY_H

#include <sys/types.h>

/*
 * A process ends only when its last thread does, and one that sleeps in an endless call (see
 * endless-call.h) does not. Then everything waits for it: the shell, and the reader of its output. So
 * such work is done in a copy of the process, for which the process itself need not wait.
 * Rests on fork(2), prctl(2) and close_range(2).
 */

/*
 * This process must have one thread. The copy gets SIGTERM when this process ends, or SIGKILL if
 * SIGTERM is ignored or blocked. If it is ended by SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGPIPE, it
 * closes all its files first. The action of SIGCHLD becomes the default.
 * Returns 0 in the copy, or here if there can be no copy; and 1 after the end of the copy, or after
 * process_copy_leave(), with the end as of waitpid(2).
 */
int process_copy_start(int *ret_wait_status);

/*
 * Closes all files of the copy, and tells the process that waits that the copy exits with STATUS.
 * To be called immediately before _exit().
 */
void process_copy_leave(int status);

/*
 * Waits for a moment for the end of CHILD, which has closed its files. It is left behind if a thread of
 * it sleeps in an endless call.
 */
void process_reap_soon(pid_t child);

#endif
