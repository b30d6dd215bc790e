// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "interrupts.h"
#include "test.h"

#define LONG (600 * NANOSECONDS_PER_SECOND)

static void test_none(void **state)
{
	struct interrupts interrupts;
	uint64_t start = monotonic_ns();

	(void)state;
	interrupts_hold(&interrupts);
	assert_int_equal(interrupts_pending(&interrupts), 0);
	assert_int_equal(interrupts_sleep(&interrupts, 1000000), 0);
	assert_true(monotonic_ns() - start >= 1000000);
	interrupts_release(&interrupts);
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

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
		sigtimedwait(&interrupts.held, NULL, &(struct timespec){ 0 });
	}
	if (ignored && interrupts_pending(&interrupts))
		_exit(4);
	interrupts_release(&interrupts);
	_exit(5);
}

static void test_ends_by_the_signal(void **state)
{
	(void)state;
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

static void test_ignored(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		int status = status_of(signals[i], true, true);

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_ends_by_the_signal),
		cmocka_unit_test(test_ignored),
	};

	return cmocka_run_group_tests_name("interrupts", tests, NULL, NULL);
}
