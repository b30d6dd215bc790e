// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/process-name.h"
#include "test.h"

static void expect_own_name(const char *name)
{
	char found[PROCESS_NAME_SIZE];
	pid_t pid;

	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	assert_int_equal(process_of_thread(getpid(), &pid, found), 0);
	assert_int_equal(pid, getpid());
	assert_string_equal(found, name);
}

TEST(test_name)
{
	expect_own_name("a");
	expect_own_name("fifteen letters");
	expect_own_name("");
	expect_own_name("\n");
	expect_own_name("x\nTgid:\t1");
	expect_own_name("two\n\n");
}

/* The name is the process's. */
static void *find_process_of_thread(void *data)
{
	char found[PROCESS_NAME_SIZE];
	pid_t tid = syscall(SYS_gettid), pid;

	prctl(PR_SET_NAME, "a thread");
	assert_int_not_equal(tid, getpid());
	assert_int_equal(process_of_thread(tid, &pid, found), 0);
	assert_int_equal(pid, getpid());
	assert_string_equal(found, "the process");
	return data;
}

TEST(test_thread)
{
	pthread_t thread;
	void *done;

	(void)state;
	prctl(PR_SET_NAME, "the process");
	assert_int_equal(pthread_create(&thread, NULL, find_process_of_thread, state), 0);
	assert_int_equal(pthread_join(thread, &done), 0);
	assert_ptr_equal(done, state);
}

TEST(test_ended_process)
{
	char found[PROCESS_NAME_SIZE] = "untouched";
	pid_t ended = fork(), pid = -2;

	if (ended == 0)
		_exit(0);
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	assert_int_equal(process_of_thread(ended, &pid, found), -ESRCH);
	assert_int_equal(pid, -2);
	assert_string_equal(found, "untouched");
}
