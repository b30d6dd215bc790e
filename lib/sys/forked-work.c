// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/forked-work.h"
#include "sys/process-copy.h"

/* What follows the answer if WORK returned. */
#define END_MARK '.'
#define CHUNK_SIZE 65536

/* Not exit(), which would write and seek the streams of the parent. */
static void __attribute__((noreturn))
work_in_child(forked_work *work, void *data, pid_t parent, int output)
{
	FILE *answer;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	answer = fdopen(output, "w");
	if (!answer)
		_exit(EXIT_FAILURE);
	work(data, answer);
	putc(END_MARK, answer);
	fflush(NULL);
	/* A thread that is stuck would keep it open. */
	fclose(answer);
	_exit(EXIT_SUCCESS);
}

/* Returns 1 if there is something to read, 0 after DEADLINE, or a negative errno. */
static int wait_until(int fd, uint64_t deadline)
{
	for (;;) {
		struct pollfd polled = { .fd = fd, .events = POLLIN };
		uint64_t now = monotonic_ns();
		uint64_t left_ms = now < deadline ? (deadline - now) / NANOSECONDS_PER_MILLISECOND :
						    0;
		int ret = poll(&polled, 1, left_ms < 1000 ? left_ms : 1000);

		if (ret > 0)
			return 1;
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (now >= deadline)
			return 0;
	}
}

/* Reads until the end, to ANSWER. Returns 0, -ETIMEDOUT, or another negative errno. */
static int read_until(int fd, uint64_t deadline, FILE *answer)
{
	CLEANUP_FREE char *chunk = malloc(CHUNK_SIZE);

	if (!chunk)
		return -ENOMEM;
	for (;;) {
		int ret = wait_until(fd, deadline);
		ssize_t length;

		if (ret <= 0)
			return ret < 0 ? ret : -ETIMEDOUT;
		length = read(fd, chunk, CHUNK_SIZE);
		if (length < 0 && errno != EINTR)
			return -errno;
		if (length == 0)
			return 0;
		if (length > 0)
			fwrite(chunk, 1, length, answer);
	}
}

/* Ends CHILD, whose pipe FD is closed by that. What it still writes goes to ANSWER. */
static void give_up(pid_t child, int fd, FILE *answer)
{
	kill(child, SIGTERM);
	if (read_until(fd, monotonic_ns() + FORKED_WORK_GRACE_NS, answer) == 0)
		return;
	kill(child, SIGKILL);
	read_until(fd, monotonic_ns() + NANOSECONDS_PER_SECOND, answer);
}

/* Returns 0 if the answer is complete, without its mark. */
static int take_mark(const char *answer, size_t *size)
{
	if (!*size || answer[*size - 1] != END_MARK)
		return -ECHILD;
	--*size;
	return 0;
}

static int read_answer(pid_t child, int fd, uint64_t nanoseconds, char **ret_answer,
		       size_t *ret_size)
{
	FILE *stream = open_memstream(ret_answer, ret_size);
	int ret;

	if (!stream) {
		kill(child, SIGKILL);
		return -ENOMEM;
	}
	ret = read_until(fd, monotonic_ns() + nanoseconds, stream);
	if (ret < 0)
		give_up(child, fd, stream);
	if (fclose(stream) && ret == 0)
		ret = -ENOMEM;
	return ret;
}

int forked_work_run(forked_work *work, void *data, uint64_t nanoseconds, char **ret_answer,
		    size_t *ret_size)
{
	CLEANUP_FREE char *answer = NULL;
	pid_t child, parent = getpid();
	size_t size = 0;
	int ends[2], ret;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		work_in_child(work, data, parent, ends[1]);
	}
	ret = child < 0 ? -errno : 0;
	close(ends[1]);
	if (ret == 0)
		ret = read_answer(child, ends[0], nanoseconds, &answer, &size);
	close(ends[0]);
	if (child > 0)
		process_reap_soon(child);
	if (ret == 0)
		ret = take_mark(answer, &size);
	if (ret < 0)
		return ret;
	*ret_answer = answer;
	*ret_size = size;
	answer = NULL;
	return 0;
}
