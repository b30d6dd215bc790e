// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "ui/terminal.h"

size_t terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
