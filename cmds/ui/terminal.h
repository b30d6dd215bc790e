/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TERMINAL_H
#define FASTPATH_TERMINAL_H

#include <stddef.h>

/* The number of columns of the terminal that standard output is; 0 if it is none, or does not say. */
size_t terminal_width(void);

#endif
