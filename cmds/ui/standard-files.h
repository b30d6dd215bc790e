/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_STANDARD_FILES_H
#define FASTPATH_STANDARD_FILES_H

/*
 * Call this before anything is opened. A program may be started with standard input, output or
 * error closed, and the next file that it opens would then get that number, and what is meant for
 * the screen. Such a number is taken here: reading and writing still fail with EBADF, and programs
 * that are executed find it closed, as it was.
 * Returns 0; or -1, and complains, where standard error is open.
 */
int standard_files_reserve(void);

/*
 * Write what is buffered for standard output. Returns 0; or -1 if that failed, or anything before
 * it, with the negative errno of it in RET_ERROR, 0 where that is not known any more.
 */
int standard_output_flush(int *ret_error);

/* Says that standard output cannot be written to, and why. ERR is as in RET_ERROR. */
void standard_output_complain(int err);

/* Flushes at the end: returns STATUS, or complains and returns STATUS_ERROR. */
int standard_output_finish(int status);

#endif
