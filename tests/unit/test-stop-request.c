// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/stop-request.h"
#include "test.h"

/* Longer than what counts as one request. */
static const struct timespec pause_time = { .tv_nsec = 300000000 };

/* How a process ends that calls WORK: the signal, or the negative exit status. */
static int end_of(void (*work)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		signal(SIGINT, SIG_DFL);
		alarm(20);
		work();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void stop_and_report(void)
{
	stop_request_accept();
	/* Each walk over the files does so. */
	stop_request_accept();
	if (stop_requested())
		_exit(1);
	raise(SIGINT);
	/* passed on by the parent */
	raise(SIGINT);
	if (!stop_requested())
		_exit(2);
	stop_request_end();
	_exit(3);
}

static void stop_twice(void)
{
	stop_request_accept();
	stop_request_accept();
	raise(SIGINT);
	nanosleep(&pause_time, NULL);
	raise(SIGINT);
	_exit(1);
}

static void never_end(void)
{
	stop_request_accept();
	raise(SIGINT);
	for (;;)
		pause();
}

static void ignore(void)
{
	signal(SIGINT, SIG_IGN);
	stop_request_accept();
	raise(SIGINT);
	_exit(stop_requested());
}

TEST(test_ends)
{
	assert_int_equal(end_of(stop_and_report), SIGINT);
	assert_int_equal(end_of(stop_twice), SIGINT);
	assert_int_equal(end_of(never_end), SIGINT);
	assert_int_equal(end_of(stop_request_end), 0);
	assert_int_equal(end_of(ignore), 0);
}
