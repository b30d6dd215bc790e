// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child-process.h"
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

static void test_capture(void **state)
{
	(void)state;
	assert_captured("echo text", 128, "text\n");
	assert_captured("exit 3", 128, "");
	assert_captured("echo noise >&2; printf x; kill -KILL $$", 128, "x");
	/* in pieces */
	assert_captured("printf one; sleep 0.05; printf two", 128, "onetwo");
	/* nothing to read */
	assert_captured("cat; echo end", 128, "end\n");
}

static void test_capture_is_bounded(void **state)
{
	(void)state;
	assert_captured("printf 12345678", 8, "12345678");
	assert_captured("printf 123456789", 8, "12345678");
	assert_captured("exec yes", 8, "y\ny\ny\ny\n");
	assert_captured("echo text", 0, "");
}

static void test_capture_with_sigchld_ignored(void **state)
{
	(void)state;
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

static void test_interrupted(void **state)
{
	char *const argv[] = { "sh", "-c", "sleep 0.1; exit 7", NULL };
	int wait_status;

	(void)state;
	alarms = 0;
	set_alarms(5000);
	assert_captured("sleep 0.1; echo text; exec >&-; sleep 0.1", 128, "text\n");
	assert_int_equal(child_run(SHELL, argv, &wait_status), 0);
	set_alarms(0);
	assert_true(alarms > 0);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 7);
}

static void test_run(void **state)
{
	char *const argv[] = { "sh", "-c", "kill -TERM $$", NULL };
	int wait_status;

	(void)state;
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
	assert_int_equal(child_run_errors(SHELL, argv, buffer, size, &length, &wait_status), 0);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(buffer, expected, length);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), exit_status);
}

static void test_run_errors(void **state)
{
	(void)state;
	assert_errors("cat && [ /dev/fd/1 -ef /dev/null ] && exit 5", 128, "", 5);
	assert_errors("echo lost; printf one >&2; sleep 0.05; printf two >&2; exit 1", 128,
		      "onetwo", 1);
	/* It writes more than a pipe holds, and still ends by itself. */
	assert_errors("head -c 200000 /dev/zero | tr '\\0' x >&2 && exit 4", 3, "xxx", 4);
}

/* A program without standard files hands one of their descriptors to the pipe. */
static void test_run_errors_with_closed_files(void **state)
{
	int saved[3];

	(void)state;
	for (int fd = 0; fd < 3; fd++) {
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		close(fd);
	}
	assert_errors("echo lost; echo text >&2", 128, "text\n", 0);
	for (int fd = 0; fd < 3; fd++) {
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
}

/* What is returned stays untouched. */
static void assert_fails(const char *path, int expected)
{
	char *const argv[] = { "name", NULL };
	char buffer[] = "before";
	size_t length = 42;
	int wait_status = 42;

	assert_int_equal(child_run(path, argv, &wait_status), expected);
	assert_int_equal(
		child_run_errors(path, argv, buffer, sizeof(buffer), &length, &wait_status),
		expected);
	assert_int_equal(child_capture(path, argv, buffer, sizeof(buffer), &length), expected);
	assert_int_equal(wait_status, 42);
	assert_int_equal(length, 42);
	assert_string_equal(buffer, "before");
}

static void test_cannot_execute(void **state)
{
	const char *emulator = getenv("EMULATOR");

	(void)state;
	/* Emulated, posix_spawn() is a fork, of which the program does not learn what became. */
	if (emulator && *emulator)
		return;
	assert_fails("/nonexistent/program", -ENOENT);
	assert_fails("/dev/null", -EACCES);
	assert_fails("/", -EACCES);
	/* There is no search in PATH. */
	assert_fails("sh", -ENOENT);
}

static void test_find(void **state)
{
	char *path = NULL;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_capture_is_bounded),
		cmocka_unit_test(test_capture_with_sigchld_ignored),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_run_errors),
		cmocka_unit_test(test_run_errors_with_closed_files),
		cmocka_unit_test(test_cannot_execute),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests_name("child-process", tests, NULL, NULL);
}
