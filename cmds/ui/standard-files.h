/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_STANDARD_FILES_H
#define FASTPATH_STANDARD_FILES_H

#include "sys/interrupts.h"

/*
 * Call this before any file is opened. A program can be started with standard input, output or
 * error closed. Then the next file that it opens would get this number, and messages would be
 * written to the file. This function reserves such a number: reading and writing still fail with
 * EBADF, and programs that are executed get it closed.
 * Returns 0, or -1 after printing an error (if standard error is open).
 */
int standard_files_reserve(void);

/* Keeps the errno ERR of a write to standard output that failed: stdio does not. */
void standard_output_failed(int err);

/*
 * Write the buffer of standard output. Returns 0; or -1 if this or an earlier write failed, with
 * the negative errno in RET_ERROR, or 0 there if nobody has kept the errno of the earlier write.
 */
int standard_output_flush(int *ret_error);

/*
 * The same while INTERRUPTS holds signals. Returns 0; or -1 after printing an error, unless a signal
 * came, which ends the wait for a reader.
 */
int standard_output_flush_held(struct interrupts *interrupts);

/* Flushes standard output at the end. Returns STATUS, or STATUS_ERROR after printing an error. */
int standard_output_finish(int status);

#endif
