// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/progress.h"

#define FIRST_AFTER (2 * NANOSECONDS_PER_SECOND)
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

void progress_show(const char *format, ...)
{
	va_list arguments;

	progress_clear();
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
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
