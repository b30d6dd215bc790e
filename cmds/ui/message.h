/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MESSAGE_H
#define FASTPATH_MESSAGE_H

#include <stdbool.h>

/* --quiet: warnings are not printed any more; options_parse() tells. */
void message_set_quiet(bool quiet);

/* "ERROR: …" and "WARNING: …" on standard error, in btrfs-progs' form. */
void error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * "ERROR: cannot open 'x': No such file or directory": ACTION, the quoted PATH, and what the
 * negative errno ERR means (left out if 0).
 */
void error_path(const char *action, const char *path, int err);
void warning_path(const char *action, const char *path, int err);

/*
 * "ERROR: unknown format 'x' (expected text or json)": WHAT, the quoted VALUE that the user typed,
 * and the formatted rest.
 */
void error_value(const char *what, const char *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
