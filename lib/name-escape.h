/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NAME_ESCAPE_H
#define FASTPATH_NAME_ESCAPE_H

#include <stdbool.h>

/* Whether NAME is well-formed UTF-8 (no overlong forms, no surrogates). */
bool name_is_utf8(const char *name);

/*
 * NAME for a person's eyes: control bytes and bytes that are not UTF-8 as \xHH, a backslash as
 * \\, so that no name can change the terminal and no two names look the same.
 * Returns a string that the caller frees, or NULL without memory.
 */
char *escape_name(const char *name);

/* As escape_name(), between single quotes; a single quote within becomes \'. */
char *quote_name(const char *name);

#endif
