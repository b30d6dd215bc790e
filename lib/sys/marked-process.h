/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MARKED_PROCESS_H
#define FASTPATH_MARKED_PROCESS_H

#include <sys/types.h>

/*
 * Processes that a later run of the program finds again, by their name in /proc/PID/comm. Rests on
 * prctl(2) and proc(5).
 */

/* The name of a process that works on SUBJECT. */
#define PROCESS_MARK_SIZE 16
void process_mark_of(const char *subject, char ret_mark[PROCESS_MARK_SIZE]);

/* Names this process. */
void process_mark_self(const char mark[PROCESS_MARK_SIZE]);

/*
 * Another process of this program, or of another version of it at the same path, with this name,
 * whose user ids are all the effective one of the caller; also if only a thread is left that cannot
 * be killed, but not after the process has ended.
 * ROOT replaces /proc if it is not NULL.
 * Returns its id, or 0 if there is none or that is not known.
 */
pid_t process_find_marked(const char *root, const char mark[PROCESS_MARK_SIZE]);

#endif
