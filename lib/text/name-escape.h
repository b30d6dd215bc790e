/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NAME_ESCAPE_H
#define FASTPATH_NAME_ESCAPE_H

#include <stdbool.h>

/* Whether NAME is well-formed UTF-8 (no overlong forms, no surrogates). */
bool name_is_utf8(const char *name);

/* Whether NAME is printable ASCII without a backslash, so that escape_name() does not change it. */
bool name_is_plain(const char *name);

/*
 * NAME for display. Each byte that is not UTF-8 becomes \xHH, and so does each byte of a character
 * that controls a terminal (C0, DEL, C1), changes the direction of text, ends a line, or is
 * invisible. A backslash becomes \\. So no name can control the terminal, and the original name can
 * be recovered. These characters are Unicode's Cc, Bidi_Control, Zl, Zp and
 * Default_Ignorable_Code_Point, as Unicode's Technical Reports 36 and 55 advise. Joiners and
 * variation selectors, which languages and emoji need, are escaped only after ASCII.
 * Returns a string that the caller frees, or NULL without memory.
 */
char *escape_name(const char *name);

/* As escape_name(), for other encodings than UTF-8: each byte outside ASCII becomes \xHH, too. */
char *escape_name_to_ascii(const char *name);

/* As escape_name(), between single quotes; a single quote within becomes \'. */
char *quote_name(const char *name);

/* The same for other encodings than UTF-8. */
char *quote_name_to_ascii(const char *name);

/*
 * NAME as one word of a command that a user can paste into a shell. If it is printable ASCII
 * without a backslash, it is put between single quotes, for any shell. Otherwise it has the form
 * $'…' of bash, zsh and ksh, with each other byte as three octal digits: so it cannot control the
 * terminal, and is the same in each locale. A shell that does not know this form, such as dash, takes
 * it for one word as well, but for another name.
 * Returns a string that the caller frees, or NULL without memory.
 */
char *shell_quote(const char *name);

#endif
