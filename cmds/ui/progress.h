/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROGRESS_H
#define FASTPATH_PROGRESS_H

#include <stdbool.h>

/*
 * A line on standard error that shows the progress of long work. It is not shown in the first two
 * seconds, and not if standard error is no terminal.
 */

/* The work begins now. If ENABLED is false, no progress is shown. */
void progress_start(bool enabled);

/* The same, but progress is shown even if standard error is no terminal. */
void progress_start_anywhere(void);

/* Whether progress is shown at all. */
bool progress_enabled(void);

/* Whether it is time for a new line. It is cheap enough to be called every few files or extents. */
bool progress_due(void);

void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Removes the line. To be called before anything else is written to the terminal. */
void progress_clear(void);

#endif
