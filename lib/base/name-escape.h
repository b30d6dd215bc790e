/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NAME_ESCAPE_H
#define FASTPATH_NAME_ESCAPE_H

#include <stdbool.h>

/* Whether NAME is well-formed UTF-8 (no overlong forms, no surrogates). */
bool name_is_utf8(const char *name);

/* Whether NAME is all printable ASCII without a backslash: escape_name() leaves it as it is. */
bool name_is_plain(const char *name);

/*
 * NAME for a person's eyes: as \xHH each byte that is not UTF-8, and each of a character that would
 * not show as what it is, since it controls a terminal (C0, DEL, C1), turns the order of what is
 * around it, ends a line, or is invisible; a backslash as \\. So no name can change the terminal,
 * and each can be had back from what is shown. These characters are Unicode's Cc, Bidi_Control, Zl,
 * Zp and Default_Ignorable_Code_Point, as Unicode's Technical Reports 36 and 55 advise; joiners and
 * variation selectors, which languages and emoji need, only where they follow ASCII.
 * Returns a string that the caller frees, or NULL without memory.
 */
char *escape_name(const char *name);

/* As escape_name(), for an encoding that is not UTF-8: each byte beyond ASCII as \xHH, too. */
char *escape_name_to_ascii(const char *name);

/* As escape_name(), between single quotes; a single quote within becomes \'. */
char *quote_name(const char *name);

#endif
