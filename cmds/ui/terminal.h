/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TERMINAL_H
#define FASTPATH_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* The number of columns of the terminal that standard output is; 0 if it is none, or does not say. */
size_t terminal_width(void);

/* Standard output is a terminal that shows colours, and the caller wants them: NO_COLOR is empty or not set. */
bool terminal_has_colours(void);

/* What begins and ends something that must not be overlooked; "" without colours. */
const char *terminal_alarm_begin(void);
const char *terminal_alarm_end(void);

#endif
