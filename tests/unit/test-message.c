// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "capture.h"
#include "test.h"
#include "ui/message.h"

/* What was printed before a message stands before it, although it waits in a buffer. */
static void test_order(void **state)
{
	CLEANUP_FREE char *text = NULL;

	(void)state;
	capture_begin();
	printf("before\n");
	error("%d things are wrong", 2);
	printf("between\n");
	warning("one thing is odd");
	printf("after\n");
	text = capture_end();
	assert_string_equal(text, "before\n"
				  "ERROR: 2 things are wrong\n"
				  "between\n"
				  "WARNING: one thing is odd\n"
				  "after\n");
}

static void test_paths(void **state)
{
	CLEANUP_FREE char *text = NULL;

	(void)state;
	capture_begin();
	error_path("cannot open", "a\nb", -ENOENT);
	warning_path("left behind:", "it's", 0);
	text = capture_end();
	assert_string_equal(text, "ERROR: cannot open 'a\\x0ab': No such file or directory\n"
				  "WARNING: left behind: 'it\\'s'\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
