// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "sys/child-process.h"
#include "test.h"

#define SHELL "/bin/sh"

/* Run SCRIPT and compare what it wrote, up to SIZE bytes, with EXPECTED. */
static void assert_captured(const char *script, size_t size, const char *expected)
{
	char *const argv[] = { "sh", "-c", (char *)script, NULL };
	char buffer[128];
	size_t length;

	assert_true(size <= sizeof(buffer));
	assert_int_equal(child_capture(SHELL, argv, buffer, size, &length), 0);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(buffer, expected, length);
}

TEST(test_capture)
{
	assert_captured("echo text", 128, "text\n");
	assert_captured("exit 3", 128, "");
	assert_captured("echo noise >&2; printf x; kill -KILL $$", 128, "x");
	/* in pieces */
	assert_captured("printf one; sleep 0.05; printf two", 128, "onetwo");
	/* nothing to read */
	assert_captured("cat; echo end", 128, "end\n");
}

TEST(test_capture_is_bounded)
{
	assert_captured("printf 12345678", 8, "12345678");
	assert_captured("printf 123456789", 8, "12345678");
	assert_captured("exec yes", 8, "y\ny\ny\ny\n");
	assert_captured("echo text", 0, "");
}

TEST(test_capture_with_sigchld_ignored)
{
	signal(SIGCHLD, SIG_IGN);
	assert_captured("echo text", 128, "text\n");
	signal(SIGCHLD, SIG_DFL);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int number)
{
	(void)number;
	alarms++;
}

/* Without SA_RESTART, an alarm interrupts read() and waitpid(). */
static void set_alarms(suseconds_t period)
{
	const struct sigaction action = { .sa_handler = count_alarm };
	const struct itimerval timer = { { 0, period }, { 0, period } };

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

TEST(test_interrupted)
{
	char *const argv[] = { "sh", "-c", "sleep 0.1; exit 7", NULL };
	int wait_status;

	alarms = 0;
	set_alarms(5000);
	assert_captured("sleep 0.1; echo text; exec >&-; sleep 0.1", 128, "text\n");
	assert_int_equal(child_run(SHELL, argv, &wait_status), 0);
	set_alarms(0);
	assert_true(alarms > 0);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 7);
}

TEST(test_run)
{
	char *const argv[] = { "sh", "-c", "kill -TERM $$", NULL };
	int wait_status;

	assert_int_equal(child_run(SHELL, argv, &wait_status), 0);
	assert_true(WIFSIGNALED(wait_status));
	assert_int_equal(WTERMSIG(wait_status), SIGTERM);
}

/* Run SCRIPT and compare what it wrote as errors, up to SIZE bytes, and its exit status. */
static void assert_errors(const char *script, size_t size, const char *expected, int exit_status)
{
	char *const argv[] = { "sh", "-c", (char *)script, NULL };
	char buffer[128];
	int wait_status;
	size_t length;

	assert_true(size <= sizeof(buffer));
	assert_int_equal(child_run_errors(SHELL, argv, -1, -1, buffer, size, &length, &wait_status),
			 0);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(buffer, expected, length);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), exit_status);
}

TEST(test_run_errors)
{
	assert_errors("cat && [ /dev/fd/1 -ef /dev/null ] && exit 5", 128, "", 5);
	assert_errors("echo lost; printf one >&2; sleep 0.05; printf two >&2; exit 1", 128,
		      "onetwo", 1);
	/* It writes more than a pipe holds, and still ends by itself. */
	assert_errors("head -c 200000 /dev/zero | tr '\\0' x >&2 && exit 4", 3, "xxx", 4);
}

/* Run SCRIPT and compare its output, up to SIZE bytes, its errors and its exit status. */
static void assert_output(const char *script, size_t size, const char *output, const char *errors,
			  int exit_status)
{
	char *const argv[] = { "sh", "-c", (char *)script, NULL };
	int wait_status = -1, ret;
	char buffer[128];
	size_t length = 0;
	char *said;

	assert_true(size <= sizeof(buffer));
	capture_begin();
	ret = child_run_output(SHELL, argv, buffer, size, &length, &wait_status);
	said = capture_end();
	assert_int_equal(ret, 0);
	assert_int_equal(length, strlen(output));
	assert_memory_equal(buffer, output, length);
	assert_string_equal(said, errors);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), exit_status);
	free(said);
}

TEST(test_run_output)
{
	assert_output("cat && echo said >&2; printf one; sleep 0.05; printf two; exit 5", 128,
		      "onetwo", "said\n", 5);
	/* It goes on for as long as it can write. */
	assert_output("trap '' PIPE; while echo x 2>/dev/null; do :; done; exit 4", 3, "x\nx", "",
		      4);
}

/* Run SCRIPT with OUTPUT as its standard output, and return its exit status, -1 if it has none. */
static int run_held(const char *script, int output)
{
	char *const argv[] = { "sh", "-c", (char *)script, NULL };
	struct interrupts interrupts;
	int wait_status, ret;

	interrupts_hold(&interrupts);
	ret = child_run_held(SHELL, argv, output, &interrupts, &wait_status);
	interrupts_forget(&interrupts);
	interrupts_release(&interrupts);
	return ret == 0 && WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
}

TEST(test_run_held)
{
	static const char script[] = "echo output; echo error >&2; exit 3";
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct {
		int output;
		const char *said;
	} cases[] = {
		{ STDOUT_FILENO, "output\nerror\n" },
		{ STDERR_FILENO, "output\nerror\n" },
		{ null, "error\n" },
	};

	assert_true(null >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *said;
		int ret;

		capture_begin();
		ret = run_held(script, cases[i].output);
		said = capture_end();
		assert_int_equal(ret, 3);
		assert_string_equal(said, cases[i].said);
		free(said);
	}
	close(null);
	assert_int_equal(run_held("[ /dev/fd/2 -ef /dev/fd/1 ] && exit 4", STDERR_FILENO), 4);
}

/* The program ends by itself after a signal. That of a terminal would come twice. */
TEST(test_run_held_signals)
{
	assert_int_equal(
		run_held("trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.05; done",
			 STDOUT_FILENO),
		7);
	assert_int_equal(run_held("trap 'exit 8' INT; kill -INT $PPID; sleep 0.3; exit 6",
				  STDOUT_FILENO),
			 6);
}

/* Nothing of this is printed: there may be nowhere to print it to. */
static bool runs_well(void)
{
	char *const argv[] = { "sh", "-c", "echo output; echo error >&2", NULL };
	char *const missing_argv[] = { "name", NULL };
	char output[16] = "", errors[16] = "";
	size_t output_length, errors_length;
	int wait_status;

	if (child_capture(SHELL, argv, output, sizeof(output), &output_length) ||
	    child_run_errors(SHELL, argv, -1, -1, errors, sizeof(errors), &errors_length,
			     &wait_status))
		return false;
	if (child_run_errors("/nonexistent", missing_argv, -1, -1, errors, 0, &errors_length,
			     &wait_status) != -ENOENT)
		return false;
	return strcmp(output, "output\n") == 0 && strcmp(errors, "error\n") == 0;
}

/* A program without some of the standard files hands their descriptors to the pipes. */
TEST(test_closed_files)
{
	for (int closed = 0; closed < 8; closed++) {
		int saved[3];
		bool well;

		for (int fd = 0; fd < 3; fd++) {
			saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
			if (closed & 1 << fd)
				close(fd);
		}
		well = runs_well();
		for (int fd = 0; fd < 3; fd++) {
			dup2(saved[fd], fd);
			close(saved[fd]);
		}
		assert_true(well);
	}
}

/* What is returned stays untouched. */
static void assert_fails(const char *path, int expected)
{
	char *const argv[] = { "name", NULL };
	struct interrupts interrupts = { 0 };
	char buffer[] = "before";
	size_t length = 42;
	int wait_status = 42;

	assert_int_equal(child_run(path, argv, &wait_status), expected);
	assert_int_equal(child_run_errors(path, argv, -1, -1, buffer, sizeof(buffer), &length,
					  &wait_status),
			 expected);
	assert_int_equal(child_capture(path, argv, buffer, sizeof(buffer), &length), expected);
	assert_int_equal(child_run_output(path, argv, buffer, sizeof(buffer), &length,
					  &wait_status),
			 expected);
	assert_int_equal(child_run_held(path, argv, STDOUT_FILENO, &interrupts, &wait_status),
			 expected);
	assert_int_equal(wait_status, 42);
	assert_int_equal(length, 42);
	assert_string_equal(buffer, "before");
}

/* None but the one that it is to have. */
TEST(test_inherited)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char script[128];
	char *const argv[] = { "sh", "-c", script, NULL };
	int wait_status;
	size_t length;

	snprintf(script, sizeof(script), "[ -e /proc/self/fd/%d ] && [ ! -e /proc/self/fd/%d ]", fd,
		 other);
	assert_int_equal(child_run_errors(SHELL, argv, fd, -1, NULL, 0, &length, &wait_status), 0);
	assert_int_equal(wait_status, 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(other);
	close(fd);
	assert_int_equal(child_run_errors(SHELL, argv, INT_MAX, -1, NULL, 0, &length, &wait_status),
			 -EBADF);
}

/* Called by the child before it is the program, in the place of prctl(2). */
static void (*before_prctl)(void);

int prctl(int option, ...)
{
	unsigned long argument;
	va_list arguments;

	va_start(arguments, option);
	argument = va_arg(arguments, int);
	va_end(arguments);
	if (before_prctl)
		before_prctl();
	return syscall(SYS_prctl, option, argument, 0, 0, 0);
}

static void get_alarm(void)
{
	raise(SIGALRM);
}

/* A signal that comes to the child before it is the program is the program's. */
TEST(test_no_handler_in_child)
{
	const struct sigaction action = { .sa_handler = count_alarm };
	char *const argv[] = { "sh", "-c", "exit 0", NULL };
	int wait_status;

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	before_prctl = get_alarm;
	assert_int_equal(child_run(SHELL, argv, &wait_status), 0);
	before_prctl = NULL;
	assert_true(WIFSIGNALED(wait_status));
	assert_int_equal(WTERMSIG(wait_status), SIGALRM);
}

/* Waits for the end of all who have the pipe's other end open, and returns what they wrote. */
static size_t wait_for_end(int fd, char *buffer, size_t size)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t length = 0;
	ssize_t count;

	do {
		assert_int_equal(poll(&poll_fd, 1, 20000), 1);
		count = read(fd, buffer + length, size - length);
		assert_true(count >= 0);
		length += count;
	} while (count);
	return length;
}

/* A process of its own runs a program, which says so in the pipe that is returned. */
static pid_t run_in_other(int *ret_fd, void (*prepare)(void))
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char script[64];
		char *const argv[] = { "sh", "-c", script, NULL };
		int wait_status;

		close(ends[0]);
		snprintf(script, sizeof(script), "echo >&%d; exec sleep 60", ends[1]);
		before_prctl = prepare;
		child_run(SHELL, argv, &wait_status);
		_exit(0);
	}
	close(ends[1]);
	*ret_fd = ends[0];
	return pid;
}

TEST(test_ends_with_parent)
{
	char buffer[2];
	pid_t pid;
	int fd;

	pid = run_in_other(&fd, NULL);
	assert_int_equal(read(fd, buffer, 1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(wait_for_end(fd, buffer, sizeof(buffer)), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
}

static void end_parent(void)
{
	pid_t parent = getppid();

	kill(parent, SIGKILL);
	while (getppid() == parent)
		usleep(1000);
}

/* Before it asked to end with its parent, which it then does by itself. */
TEST(test_parent_ended_before)
{
	char buffer[2];
	pid_t pid;
	int fd;

	pid = run_in_other(&fd, end_parent);
	assert_int_equal(wait_for_end(fd, buffer, sizeof(buffer)), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fd);
}

TEST(test_cannot_execute)
{
	assert_fails("/nonexistent/program", -ENOENT);
	assert_fails("/dev/null", -EACCES);
	assert_fails("/", -EACCES);
	/* There is no search in PATH. */
	assert_fails("sh", -ENOENT);
}

TEST(test_find)
{
	char *path = NULL;

	assert_int_equal(setenv("PATH", "relative::/nonexistent:/bin:/usr/bin", 1), 0);
	assert_int_equal(program_find("sh", &path), 0);
	assert_string_equal(path, "/bin/sh");
	free(path);
	path = NULL;
	assert_int_equal(program_find("no-such-program", &path), -ENOENT);
	assert_int_equal(setenv("PATH", "", 1), 0);
	assert_int_equal(program_find("sh", &path), -ENOENT);
	assert_int_equal(unsetenv("PATH"), 0);
	assert_int_equal(program_find("sh", &path), -ENOENT);
	assert_null(path);
}
