/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROGRESS_H
#define FASTPATH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A line on standard error that shows the progress of long work. It is not shown in the first
 * second, and not if standard error is no terminal.
 */

/* The work begins now. If ENABLED is false, no progress is shown. */
void progress_start(bool enabled);

/* The same, but progress is shown even if standard error is no terminal. */
void progress_start_anywhere(void);

/* Whether progress is shown at all. */
bool progress_enabled(void);

/* Whether it is time for a new line. It is cheap enough to be called every few files or extents. */
bool progress_due(void);

/* The most columns of the line: one that wraps could not be removed. */
size_t progress_width(void);

/* Show a line of ASCII. If it is wider than progress_width(), it is cut at a comma. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Removes the line. To be called before anything else is written to the terminal. */
void progress_clear(void);

/* The number of columns of the terminal that standard output is; 0 if it is none, or does not say. */
size_t terminal_width(void);

/* Standard output is a terminal that shows colours, and the caller wants them: NO_COLOR is empty or not set. */
bool terminal_has_colours(void);

/* What begins and ends something that must not be overlooked; "" without colours. */
const char *terminal_alarm_begin(void);
const char *terminal_alarm_end(void);

#endif
