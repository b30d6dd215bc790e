// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ui/terminal.h"

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
