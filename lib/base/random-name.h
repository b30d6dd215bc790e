/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RANDOM_NAME_H
#define FASTPATH_RANDOM_NAME_H

#include <stddef.h>

/* With the NUL byte, for PREFIX, a string literal */
#define RANDOM_NAME_SIZE(prefix) (sizeof(prefix) + 8)

/*
 * Write PREFIX and a random number to NAME, of SIZE bytes. Most likely no file has this name.
 * Returns 0, or -EIO without randomness. Rests on getrandom(2).
 */
int random_name(char *name, size_t size, const char *prefix);

#endif
