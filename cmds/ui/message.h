/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MESSAGE_H
#define FASTPATH_MESSAGE_H

#include <stdbool.h>

#include "path/descriptor-place.h"
#include "sys/cleanup.h"

/* For --quiet: no warnings are printed from now on. Called by options_parse(). */
void message_set_quiet(bool quiet);

/* Print "ERROR: …" or "WARNING: …" on standard error, in the form of btrfs-progs. */
void error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "SPEAKER: …" for an error, as argp does about the command line. */
void error_of(const char *speaker, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* All messages from now on begin with SUBJECT and a colon, after "ERROR: "; it stays the caller's. */
void message_set_subject(const char *subject);

/* The text of the first error that was printed, cut if it is long; "" if there was none. */
const char *message_first_error(void);

/* The number of errors that were printed. */
unsigned int message_error_count(void);

/*
 * Print "ERROR: cannot open 'x': No such file or directory", from ACTION, the quoted PATH, and the
 * text for the negative errno ERR (no text if it is 0).
 */
void error_path(const char *action, const char *path, int err);
void warning_path(const char *action, const char *path, int err);

/*
 * Print "ERROR: unknown format 'x' (expected text or json)", from WHAT, the quoted VALUE that the
 * user typed, and the formatted rest.
 */
void error_value(const char *what, const char *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * TEXT as escape_name() returns it; or escape_name_to_ascii(), if the locale has another encoding than
 * UTF-8. Returns a string that the caller frees, or NULL without memory.
 */
char *escape_for_terminal(const char *text);

/*
 * NAME for a message, as quote_name() or quote_name_to_ascii() returns it; "?" if NAME is NULL or memory ran out.
 * Freed with quoted_name_free(), or by CLEANUP_QUOTED_NAME.
 */
const char *quoted_name(const char *name);
void quoted_name_free(const char *quoted);
void quoted_name_freep(const char **quoted);

#define CLEANUP_QUOTED_NAME CLEANUP(quoted_name_freep)

/*
 * Print an error: ACTION ("cannot create") failed for PATH with the negative errno ERR of a function
 * in path/new-file.h, where -EXDEV is another user's link.
 */
void new_file_error(const char *action, const char *path, int err);

/* Print an error: WHAT ("the plot") could not be removed, and is at PLACE, which is freed. */
void leftover_error(const char *what, struct descriptor_place *place);

#endif
