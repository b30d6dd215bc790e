/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROGRESS_H
#define FASTPATH_PROGRESS_H

#include <stdbool.h>

/*
 * A line on standard error that shows how far long work is; nothing if that is no terminal,
 * or before the work has lasted two seconds.
 */

/* From here on the work lasts; ENABLED false keeps quiet. */
void progress_start(bool enabled);

/* The same, even if standard error is no terminal. */
void progress_start_anywhere(void);

/* Whether there is anybody to show it to. */
bool progress_enabled(void);

/* Whether it is time to show something new; cheap enough for every few files or extents. */
bool progress_due(void);

void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away, before anything else is written to the terminal. */
void progress_clear(void);

#endif
