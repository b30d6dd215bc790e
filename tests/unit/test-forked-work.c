// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/forked-work.h"
#include "test.h"

#define LONG_TIME (60 * NANOSECONDS_PER_SECOND)
#define SHORT_TIME (NANOSECONDS_PER_SECOND / 10)

static void write_text(void *data, FILE *answer)
{
	fputs(data, answer);
}

TEST(test_answer)
{
	static char *const texts[] = { "", "text", ".", "two\nlines\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP_FREE char *answer = NULL;
		size_t size;

		assert_int_equal(forked_work_run(write_text, texts[i], LONG_TIME, &answer, &size),
				 0);
		assert_int_equal(size, strlen(texts[i]));
		assert_memory_equal(answer, texts[i], size);
	}
}

static void write_much(void *data, FILE *answer)
{
	(void)data;
	for (int i = 0; i < 1000000; i++)
		putc('x', answer);
}

TEST(test_more_than_a_pipe_holds)
{
	CLEANUP_FREE char *answer = NULL;
	size_t size;

	assert_int_equal(forked_work_run(write_much, NULL, LONG_TIME, &answer, &size), 0);
	assert_int_equal(size, 1000000);
	assert_int_equal(answer[999999], 'x');
}

static void wait_for_ever(void *data, FILE *answer)
{
	/* an answer that looks complete */
	fputs("part.", answer);
	fflush(answer);
	if (data)
		signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

static void expect_error(forked_work *work, void *data, uint64_t nanoseconds, int error)
{
	char *answer = NULL;
	size_t size = 77;

	assert_int_equal(forked_work_run(work, data, nanoseconds, &answer, &size), error);
	assert_null(answer);
	assert_int_equal(size, 77);
}

/* Also one that ignores SIGTERM is ended, and later. */
TEST(test_time_is_over)
{
	uint64_t started_at = monotonic_ns();

	expect_error(wait_for_ever, NULL, SHORT_TIME, -ETIMEDOUT);
	assert_true(monotonic_ns() - started_at >= SHORT_TIME);
	assert_true(monotonic_ns() - started_at < FORKED_WORK_GRACE_NS);
	expect_error(wait_for_ever, "", SHORT_TIME, -ETIMEDOUT);
	assert_true(monotonic_ns() - started_at >= FORKED_WORK_GRACE_NS);
	/* nothing is left, once it was waited for */
	while (wait(NULL) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

static void die(void *data, FILE *answer)
{
	fputs(data, answer);
	fflush(answer);
	raise(SIGKILL);
}

TEST(test_ends_early)
{
	expect_error(die, "", LONG_TIME, -ECHILD);
	expect_error(die, "part", LONG_TIME, -ECHILD);
}
