// SPDX-License-Identifier: GPL-2.0-only
/*
 * lseek as a broken kernel has it, or a file that changes: the program is linked with
 * -Wl,--wrap=lseek. SEEK_LIE=HOW:FIRST:LAST says how, and at which calls, counted from 1.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../large-file.h"

off_t __real_lseek(int fd, off_t offset, int whence) LARGE_FILE_SYMBOL("__real_lseek");
off_t __wrap_lseek(int fd, off_t offset, int whence) LARGE_FILE_SYMBOL("__wrap_lseek");

/* As if somebody else wrote to the file just now. */
static void grow(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (truncate(path, __real_lseek(fd, 0, SEEK_END) + 1))
		abort();
}

/* Whether WHICH names OFFSET: the start, the last byte of the file (end), or all. */
static bool is_place(const char *which, int fd, off_t offset)
{
	struct stat status;

	if (strcmp(which, "start") == 0)
		return offset == 0;
	if (strcmp(which, "all") == 0)
		return true;
	return fstat(fd, &status) == 0 && offset == status.st_size - 1;
}

/* WAS_AT is where the descriptor's last call led, 0 if there was none. */
static off_t lie(const char *how, int fd, off_t was_at, off_t offset, int whence, off_t truth)
{
	if (strncmp(how, "slow-at-", 8) == 0 && is_place(how + 8, fd, offset))
		usleep(1000);
	if (strcmp(how, "move-at-end") == 0 && is_place("end", fd, offset))
		return offset + 1;
	if (strcmp(how, "no-data") == 0 && whence == SEEK_DATA) {
		errno = ENXIO;
		return -1;
	}
	if (strcmp(how, "no-hole") == 0)
		return whence == SEEK_DATA ? offset : INT64_MAX;
	if (strcmp(how, "stay") == 0)
		return offset;
	if (strcmp(how, "back") == 0)
		return offset - 1;
	if (strcmp(how, "slow") == 0)
		usleep(100000);
	if (strcmp(how, "broken") == 0 || (strcmp(how, "no-reuse") == 0 && was_at)) {
		errno = EIO;
		return -1;
	}
	return truth;
}

off_t __wrap_lseek(int fd, off_t offset, int whence)
{
	static unsigned int calls;
	const char *text = getenv("SEEK_LIE");
	off_t was_at = __real_lseek(fd, 0, SEEK_CUR);
	off_t truth = __real_lseek(fd, offset, whence);
	unsigned int first, last;
	char how[16];

	/* libraries may seek too */
	if (!text || (whence != SEEK_DATA && whence != SEEK_HOLE))
		return truth;
	if (sscanf(text, "%15[^:]:%u:%u", how, &first, &last) != 3)
		abort();
	calls++;
	if (strcmp(how, "grow") == 0 && calls >= first && calls <= last)
		grow(fd);
	return calls < first || calls > last ? truth : lie(how, fd, was_at, offset, whence, truth);
}
