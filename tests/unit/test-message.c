// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/message.h"

/* What was printed before a message stands before it, although it waits in a buffer. */
TEST(test_order)
{
	CLEANUP_FREE char *text = NULL;

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

TEST(test_paths)
{
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	error_path("cannot open", "a\nb", -ENOENT);
	warning_path("left behind:", "it's", 0);
	text = capture_end();
	assert_string_equal(text, "ERROR: cannot open 'a\\x0ab': No such file or directory\n"
				  "WARNING: left behind: 'it\\'s'\n");
}

/* --quiet leaves errors alone. */
TEST(test_quiet)
{
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	message_set_quiet(true);
	warning("one thing is odd");
	warning_path("left behind:", "x", 0);
	error("%d things are wrong", 2);
	message_set_quiet(false);
	warning("another");
	text = capture_end();
	assert_string_equal(text, "ERROR: 2 things are wrong\n"
				  "WARNING: another\n");
}

/* A name that is not there is told from one that is a question mark by its quotes. */
TEST(test_quoted_names)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name("it's");
	CLEANUP_QUOTED_NAME const char *none = quoted_name(NULL);

	assert_string_equal(quoted, "'it\\'s'");
	assert_string_equal(none, "?");
}
