/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHILD_PROCESS_H
#define FASTPATH_CHILD_PROCESS_H

#include <stddef.h>

#include "sys/interrupts.h"

/*
 * All functions execute the file PATH with ARGV and the environment of this process, without a
 * shell and without a search in $PATH. The program gets SIGKILL when this thread ends in any way
 * (prctl(2), PR_SET_PDEATHSIG). Processes that the program has started go on.
 */

/*
 * Run a program to its end, on this process's standard files.
 * Returns 0 with the status of waitpid(2), or a negative errno: -ENOENT, -EACCES, -ENOEXEC … if
 * PATH cannot be executed, -ECHILD if SIGCHLD is ignored.
 */
int child_run(const char *path, char *const *argv, int *ret_wait_status);

/*
 * As child_run(), with the descriptor OUTPUT as standard output, while INTERRUPTS holds signals.
 * After a signal, too, the program is waited for, so that it can clean up. SIGTERM is passed on to
 * it. Other signals are not: the program gets those of a terminal by itself. The standard files
 * must be open.
 */
int child_run_held(const char *path, char *const *argv, int output, struct interrupts *interrupts,
		   int *ret_wait_status);

/*
 * As child_run(), with empty standard input, and keep the first SIZE bytes of standard error. The
 * rest of it is discarded. Standard output is the descriptor OUTPUT, -1: it is discarded. The
 * program inherits the descriptor INHERITED with the same number, -1: none. Both must be greater
 * than 2.
 */
int child_run_errors(const char *path, char *const *argv, int inherited, int output, char *buffer,
		     size_t size, size_t *ret_length, int *ret_wait_status);

/*
 * Run a program to its end with empty standard input and this process's standard error, and keep
 * the first SIZE bytes of standard output. After them the pipe is closed, so that further writes
 * fail. Returns as child_run().
 */
int child_run_output(const char *path, char *const *argv, char *buffer, size_t size,
		     size_t *ret_length, int *ret_wait_status);

/*
 * The same, but standard error is discarded. Returns 0, whatever the program's exit status is, or a
 * negative errno as above (never -ECHILD).
 */
int child_capture(const char *path, char *const *argv, char *buffer, size_t size,
		  size_t *ret_length);

/*
 * Find the program NAME in the directories of $PATH. Returns 0 with its path, which the caller
 * frees, -ENOENT, or -ENOMEM.
 */
int program_find(const char *name, char **ret_path);

#endif
