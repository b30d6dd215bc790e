// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/standard-files.h"

int standard_files_reserve(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/* It is there where /dev is not, and O_PATH permits neither reading nor writing. */
		if (open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) < 0) {
			error("cannot replace a closed standard file: %s", strerror(errno));
			return -1;
		}
	}
	return 0;
}

/* The first one that was not complained of yet. */
static int kept_errno;

void standard_output_failed(int err)
{
	if (!kept_errno)
		kept_errno = err;
}

int standard_output_flush(int *ret_error)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	standard_output_failed(errno);
	*ret_error = -kept_errno;
	kept_errno = 0;
	/* A second complaint would be about the same. */
	clearerr(stdout);
	return -1;
}

static void complain(int err)
{
	error("cannot write to standard output%s%s", err ? ": " : "", err ? strerror(-err) : "");
}

int standard_output_flush_held(struct interrupts *interrupts)
{
	int err;

	if (standard_output_flush(&err) == 0)
		return 0;
	if (!interrupts_pending(interrupts))
		complain(err);
	return -1;
}

int standard_output_finish(int status)
{
	int err;

	if (standard_output_flush(&err) == 0)
		return status;
	complain(err);
	return STATUS_ERROR;
}
