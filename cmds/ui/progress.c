// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/clock.h"
#include "ui/progress.h"

#define FIRST_AFTER NANOSECONDS_PER_SECOND
#define THEN_EVERY (NANOSECONDS_PER_SECOND / 4)

/* There is one standard error, so there is one line on it. */
static uint64_t next_time = UINT64_MAX;
static bool line_shown;

void progress_start(bool enabled)
{
	if (enabled && isatty(STDERR_FILENO))
		progress_start_anywhere();
}

void progress_start_anywhere(void)
{
	next_time = monotonic_ns() + FIRST_AFTER;
}

bool progress_enabled(void)
{
	return next_time != UINT64_MAX;
}

bool progress_due(void)
{
	return progress_enabled() && monotonic_ns() >= next_time;
}

size_t progress_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col - 1;
	return 79;
}

/* Figures are separated by commas: a part of a figure would be a wrong one. */
static void cut_line(char *line, size_t width)
{
	while (strlen(line) > width) {
		char *comma = strrchr(line, ',');

		line[comma ? (size_t)(comma - line) : width] = '\0';
	}
}

void progress_show(const char *format, ...)
{
	size_t width = progress_width();
	va_list arguments;
	char line[256];

	progress_clear();
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	cut_line(line, width);
	fputs(line, stderr);
	fflush(stderr);
	line_shown = true;
	next_time = monotonic_ns() + THEN_EVERY;
}

void progress_clear(void)
{
	if (!line_shown)
		return;
	/* carriage return, erase the line */
	fputs("\r\033[K", stderr);
	line_shown = false;
}

size_t terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool terminal_has_colours(void)
{
	const char *no_color = getenv("NO_COLOR"), *type = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || (no_color && *no_color))
		return false;
	return type && *type && strcmp(type, "dumb") != 0;
}

const char *terminal_alarm_begin(void)
{
	return terminal_has_colours() ? "\033[31m" : "";
}

const char *terminal_alarm_end(void)
{
	return terminal_has_colours() ? "\033[0m" : "";
}
