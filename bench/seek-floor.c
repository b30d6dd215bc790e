// SPDX-License-Identifier: GPL-2.0-only
/*
 * What seek-map --timing cannot cost less than: two walks over FILE by SEEK_DATA and SEEK_HOLE, the
 * second one with the clock read before and after each call, and nothing else.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t timed_lseek(int fd, int64_t position, int whence, int64_t *total_ns)
{
	struct timespec start, end;
	int64_t answer;

	clock_gettime(CLOCK_MONOTONIC, &start);
	answer = lseek(fd, position, whence);
	clock_gettime(CLOCK_MONOTONIC, &end);
	*total_ns += (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
	return answer;
}

/* Returns the number of calls. TOTAL_NS is NULL where none is timed. */
static uint64_t walk(int fd, int64_t *total_ns)
{
	int64_t position = 0;
	uint64_t calls = 0;
	int whence = SEEK_DATA;

	while (position >= 0) {
		position = total_ns ? timed_lseek(fd, position, whence, total_ns) :
				      lseek(fd, position, whence);
		whence = whence == SEEK_DATA ? SEEK_HOLE : SEEK_DATA;
		calls++;
	}
	return calls;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	int64_t total_ns = 0;
	uint64_t calls;

	if (fd < 0) {
		fprintf(stderr, "usage: seek-floor FILE: %s\n",
			strerror(argc == 2 ? errno : EINVAL));
		return 1;
	}
	walk(fd, NULL);
	calls = walk(fd, &total_ns);
	printf("%" PRIu64 " calls, %" PRId64 " ns\n", calls, total_ns);
	close(fd);
	/* the end, and nothing else, ends a walk */
	return errno != ENXIO;
}
