// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/process-copy.h"
#include "test.h"

/* In which what ends does end. */
#define LIMIT_SECONDS 20

/* Goes on like a process with a stuck thread: it has told its end, and is not at its end. */
static void __attribute__((noreturn)) stay(int status)
{
	process_copy_leave(status);
	for (;;)
		pause();
}

static void __attribute__((noreturn)) exit_with(int status)
{
	_exit(status);
}

static void __attribute__((noreturn)) raise_signal(int number)
{
	raise(number);
	_exit(EXIT_FAILURE);
}

/* A copy that takes long to end is reaped by nobody else. */
static void reap_all(void)
{
	while (wait(NULL) > 0)
		;
}

/* The end of a copy that calls WORK. */
static int end_of(void (*work)(int argument), int argument)
{
	int wait_status = -1;

	if (process_copy_start(&wait_status) == 0)
		work(argument);
	return wait_status;
}

TEST(test_exit)
{
	int wait_status = end_of(exit_with, 64);

	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 64);
	assert_int_equal(wait(NULL), -1);
}

/* As a parent may have left it. */
TEST(test_exit_with_ignored_children)
{
	int wait_status;

	signal(SIGCHLD, SIG_IGN);
	wait_status = end_of(exit_with, 64);
	signal(SIGCHLD, SIG_DFL);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 64);
}

TEST(test_signals)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGKILL };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		int wait_status;

		/* nohup and a shell's background jobs leave some ignored. */
		if (signals[i] != SIGKILL)
			signal(signals[i], SIG_DFL);
		wait_status = end_of(raise_signal, signals[i]);
		assert_true(WIFSIGNALED(wait_status));
		assert_int_equal(WTERMSIG(wait_status), signals[i]);
		reap_all();
	}
}

/* Nobody waits for it, and it keeps no pipe open. Returns its exit status. */
static int leave_one_behind(void)
{
	int ends[2], wait_status;
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return EXIT_FAILURE;
	wait_status = end_of(stay, 7);
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 0 || waitpid(-1, NULL, WNOHANG) != 0)
		return EXIT_FAILURE;
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EXIT_FAILURE;
}

/* In a process of its own, with which what stays ends. */
TEST(test_copy_that_stays)
{
	int wait_status;
	pid_t parent = fork();

	if (parent == 0) {
		alarm(LIMIT_SECONDS);
		_exit(leave_one_behind());
	}
	assert_int_equal(waitpid(parent, &wait_status, 0), parent);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 7);
}

static void nothing(void)
{
}

static void ignore_sigterm(void)
{
	signal(SIGTERM, SIG_IGN);
}

static void block_sigterm(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Before long, since nothing else has the other end. */
static bool reaches_end(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&polled, 1, LIMIT_SECONDS * 1000) == 1 && read(fd, &byte, 1) == 0;
}

/* Of a process that calls PREPARE first. */
static void assert_ends_with_parent(void (*prepare)(void))
{
	int ends[2];
	pid_t parent;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0) {
		int wait_status;

		close(ends[0]);
		prepare();
		if (process_copy_start(&wait_status) == 0) {
			alarm(LIMIT_SECONDS + 1);
			for (byte = 'x'; write(ends[1], &byte, 1) == 1;)
				pause();
		}
		_exit(EXIT_FAILURE);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	kill(parent, SIGKILL);
	assert_true(reaches_end(ends[0]));
	close(ends[0]);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
}

/* The copy, which would wait for ever, ends with the process that waits for it. */
TEST(test_end_of_the_parent)
{
	assert_ends_with_parent(nothing);
	assert_ends_with_parent(ignore_sigterm);
	assert_ends_with_parent(block_sigterm);
}
