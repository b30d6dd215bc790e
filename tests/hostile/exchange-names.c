// SPDX-License-Identifier: GPL-2.0-only
/*
 * exchange-names A B [MICROSECONDS]: exchanges what the two names are of, again and again, until
 * SIGTERM, and waits in between, at random, for so long at most. Prints a dot for every 100 times.
 */
#include "config.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fs.h>

static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

int main(int argc, char **argv)
{
	unsigned long count = 0, most = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	if (argc < 3)
		errx(EXIT_FAILURE, "two names expected");
	signal(SIGTERM, end);
	/* an even number, so that all is at its place in the end */
	while (!ended || count % 2) {
		if (syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE))
			err(EXIT_FAILURE, "exchange");
		if (++count % 100 == 0 && write(STDOUT_FILENO, ".", 1) != 1)
			err(EXIT_FAILURE, "standard output");
		if (most)
			usleep(random() % most);
	}
	return EXIT_SUCCESS;
}
