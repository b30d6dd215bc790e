// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/interrupts.h"
#include "test.h"

#define LONG (600 * NANOSECONDS_PER_SECOND)

TEST(test_none)
{
	struct interrupts interrupts;
	uint64_t start = monotonic_ns();

	interrupts_hold(&interrupts);
	assert_int_equal(interrupts_pending(&interrupts), 0);
	assert_int_equal(interrupts_sleep(&interrupts, 1000000), 0);
	assert_true(monotonic_ns() - start >= 1000000);
	interrupts_release(&interrupts);
}

static const int signals[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGUSR1, SIGUSR2
};

/* The test may run where some of them are ignored, under nohup(1) for example. */
static void set_actions(void (*action)(int))
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &(struct sigaction){ .sa_handler = action }, NULL);
}

/* What a program does that gets SIGNAL while it holds it, and how it ends. */
static int status_of(int signal, bool ignored, bool asks)
{
	struct interrupts interrupts;
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child > 0) {
		assert_int_equal(waitpid(child, &status, 0), child);
		return status;
	}

	/* Some of the signals would leave a core. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	set_actions(ignored ? SIG_IGN : SIG_DFL);
	interrupts_hold(&interrupts);
	raise(signal);
	if (asks && !ignored && interrupts_sleep(&interrupts, LONG) != signal)
		_exit(2);
	/* The first one counts, and nobody has to wait once it was asked for. */
	if (asks && !ignored) {
		raise(signal == SIGTERM ? SIGINT : SIGTERM);
		if (interrupts_sleep(&interrupts, LONG) != signal)
			_exit(3);
	}
	if (ignored && interrupts_pending(&interrupts))
		_exit(4);
	interrupts_release(&interrupts);
	_exit(5);
}

TEST(test_ends_by_the_signal)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		int status = status_of(signals[i], false, true);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		/* one that nobody asked for is not lost either */
		status = status_of(signals[i], false, false);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
	}
}

TEST(test_ignored)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		int status = status_of(signals[i], true, true);

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 5);
	}
}

/* What would wait for others without end. Returns whether it was interrupted. */
typedef bool waiting(int full_pipe, int empty_pipe);

static bool wait_in_write(int full_pipe, int empty_pipe)
{
	(void)empty_pipe;
	return write(full_pipe, "x", 1) < 0 && errno == EINTR;
}

static bool wait_in_read(int full_pipe, int empty_pipe)
{
	char byte;

	(void)full_pipe;
	return read(empty_pipe, &byte, 1) < 0 && errno == EINTR;
}

static bool wait_in_flush(int full_pipe, int empty_pipe)
{
	FILE *stream = fdopen(full_pipe, "w");

	(void)empty_pipe;
	return stream && fputs("text", stream) >= 0 && fflush(stream) && errno == EINTR;
}

static bool wait_for_writer(int full_pipe, int empty_pipe)
{
	(void)full_pipe, (void)empty_pipe;
	return open("fifo", O_RDONLY) < 0 && errno == EINTR;
}

static void fill(int fd)
{
	char bytes[4096] = "";

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

/* The signal is there before the call: a handler alone would not help that. */
static void call_with_signal(waiting *call)
{
	struct interrupts interrupts;
	int full[2], empty[2];

	set_actions(SIG_DFL);
	if (pipe(full) < 0 || pipe(empty) < 0)
		_exit(2);
	fill(full[1]);
	interrupts_hold(&interrupts);
	raise(SIGTERM);
	raise(SIGINT);
	if (!call(full[1], empty[0]))
		_exit(3);
	if (interrupts_pending(&interrupts) != SIGTERM)
		_exit(4);
	/* and the next one */
	if (!wait_in_read(full[1], empty[0]))
		_exit(5);
	interrupts_release(&interrupts);
	_exit(6);
}

TEST(test_no_call_waits)
{
	static waiting *const calls[] = { wait_in_write, wait_in_read, wait_in_flush,
					  wait_for_writer };
	char directory[] = "/tmp/test-interrupts-XXXXXX";

	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int status;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			call_with_signal(calls[i]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGTERM);
	}
	assert_int_equal(unlink("fifo"), 0);
	assert_int_equal(rmdir(directory), 0);
}

TEST(test_forgotten)
{
	struct interrupts interrupts;

	interrupts_hold(&interrupts);
	raise(SIGHUP);
	interrupts_forget(&interrupts);
	assert_int_equal(interrupts_pending(&interrupts), 0);
	/* would end the test */
	interrupts_release(&interrupts);
}

/* The timer is not left running, and what was there before is there again. */
TEST(test_restored)
{
	struct interrupts interrupts;
	struct sigaction action;
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		set_actions(SIG_DFL);
		interrupts_hold(&interrupts);
		raise(SIGHUP);
		interrupts_forget(&interrupts);
		interrupts_release(&interrupts);
		for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
			if (sigaction(signals[i], NULL, &action) || action.sa_handler != SIG_DFL)
				_exit(2);
		if (sigaction(SIGALRM, NULL, &action) || action.sa_handler != SIG_DFL)
			_exit(3);
		/* SIGALRM would end it. */
		usleep(500000);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
