// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cleanup.h"
#include "text/name-escape.h"
#include "ui/message.h"
#include "ui/progress.h"

/* There is one standard error, so there is one answer. */
static bool is_quiet;
static const char *message_subject;
static char first_error[512];
static unsigned int error_count;

static void print(const char *prefix, const char *format, va_list arguments)
{
	progress_clear();
	/* What was printed before belongs before the message, also where both go to one file. */
	fflush(stdout);
	fputs(prefix, stderr);
	if (message_subject)
		fprintf(stderr, "%s: ", message_subject);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void message_set_quiet(bool quiet)
{
	is_quiet = quiet;
}

void message_set_subject(const char *subject)
{
	message_subject = subject;
}

const char *message_first_error(void)
{
	return first_error;
}

unsigned int message_error_count(void)
{
	return error_count;
}

static void note_error(const char *format, va_list arguments)
{
	error_count++;
	if (!*first_error)
		vsnprintf(first_error, sizeof(first_error), format, arguments);
}

void error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	note_error(format, arguments);
	va_end(arguments);
	va_start(arguments, format);
	print("ERROR: ", format, arguments);
	va_end(arguments);
}

void error_of(const char *speaker, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	note_error(format, arguments);
	va_end(arguments);
	fprintf(stderr, "%s: ", speaker);
	va_start(arguments, format);
	print("", format, arguments);
	va_end(arguments);
}

void warning(const char *format, ...)
{
	va_list arguments;

	if (is_quiet)
		return;
	va_start(arguments, format);
	print("WARNING: ", format, arguments);
	va_end(arguments);
}

void error_value(const char *what, const char *value, const char *format, ...)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(value);
	CLEANUP_FREE char *rest = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&rest, format, arguments) < 0)
		rest = NULL;
	va_end(arguments);
	error("%s %s%s", what, quoted, rest ? rest : "");
}

typedef void message_function(const char *format, ...);

static void print_path(message_function *message, const char *action, const char *path, int err)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);

	message("%s %s%s%s", action, quoted, err ? ": " : "", err ? strerror(-err) : "");
}

void error_path(const char *action, const char *path, int err)
{
	print_path(error, action, path, err);
}

void warning_path(const char *action, const char *path, int err)
{
	print_path(warning, action, path, err);
}

static bool locale_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

char *escape_for_terminal(const char *text)
{
	return locale_is_utf8() ? escape_name(text) : escape_name_to_ascii(text);
}

static char *quote_for_terminal(const char *name)
{
	return locale_is_utf8() ? quote_name(name) : quote_name_to_ascii(name);
}

static const char no_name[] = "?";

const char *quoted_name(const char *name)
{
	const char *quoted = name ? quote_for_terminal(name) : NULL;

	return quoted ? quoted : no_name;
}

void quoted_name_free(const char *quoted)
{
	if (quoted != no_name)
		free((char *)quoted);
}

void quoted_name_freep(const char **quoted)
{
	quoted_name_free(*quoted);
}

void new_file_error(const char *action, const char *path, int err)
{
	if (err == -EXDEV)
		error_path("refusing to follow another user's symbolic link in", path, 0);
	else
		error_path(action, path, err);
}

void leftover_error(const char *what, struct descriptor_place *place)
{
	CLEANUP_FREE char *path = place->path;
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);

	error("%s is left behind as inode %" PRIu64 "%s%s", what, place->inode, path ? ", " : "",
	      path ? quoted : "");
}
