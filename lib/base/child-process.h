/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHILD_PROCESS_H
#define FASTPATH_CHILD_PROCESS_H

#include <stddef.h>

/*
 * All execute the file PATH with ARGV and this process's environment, without a shell or a
 * search in PATH. The program gets SIGKILL when this thread ends, however that comes: prctl(2),
 * PR_SET_PDEATHSIG. What that has started goes on.
 */

/*
 * Run a program to its end, on this process's standard files.
 * Returns 0 and what waitpid(2) said, or a negative errno: -ENOENT, -EACCES, -ENOEXEC … where
 * PATH cannot be executed, -ECHILD if SIGCHLD is ignored.
 */
int child_run(const char *path, char *const *argv, int *ret_wait_status);

/*
 * The same with nothing to read, and keep the first SIZE bytes that it writes to standard error.
 * The rest, and what it writes to standard output, is lost. It has the descriptor INHERITED, by the
 * same number, which is none of a standard file; -1: none.
 */
int child_run_errors(const char *path, char *const *argv, int inherited, char *buffer, size_t size,
		     size_t *ret_length, int *ret_wait_status);

/*
 * Run a program to its end with nothing to read, and keep the first SIZE bytes that it writes to
 * standard output; it is cut off from writing more. What it says on standard error is lost.
 * Returns 0, however the program ended, or a negative errno as above (never -ECHILD).
 */
int child_capture(const char *path, char *const *argv, char *buffer, size_t size,
		  size_t *ret_length);

/*
 * Find the program NAME in the folders of $PATH. Returns 0 with its path, which the caller frees,
 * -ENOENT, or -ENOMEM.
 */
int program_find(const char *name, char **ret_path);

#endif
