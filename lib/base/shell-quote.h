/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SHELL_QUOTE_H
#define FASTPATH_SHELL_QUOTE_H

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
