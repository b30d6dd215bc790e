// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture.h"
#include "test.h"
#include "ui/exit-status.h"
#include "ui/file-report.h"

/* A command that only notes what it is called for, and fails where it is told to. */
struct command {
	struct file_report report;
	char calls[64];
	int prepared;
	int walked;
	int totalled;
	int visited;
};

static int note(struct command *command, const char *call, int ret)
{
	strcat(command->calls, call);
	return ret;
}

static int prepare(void *data)
{
	struct command *command = data;

	return note(command, "prepare ", command->prepared);
}

static int walk(void *data, struct file_walk *files)
{
	struct command *command = data;

	assert_non_null(files);
	command->report.visit.status = command->visited;
	return note(command, "walk ", command->walked);
}

static int total(void *data)
{
	struct command *command = data;

	return note(command, "total ", command->totalled);
}

static int append(void *data)
{
	return note(data, "append ", 0);
}

static void release(void *data)
{
	note(data, "release", 0);
}

static const struct file_report_ops framed = {
	.key = "files",
	.prepare = prepare,
	.walk = walk,
	.total = total,
	.append = append,
	.release = release,
};

static const struct file_report_ops bare = {
	.prepare = prepare,
	.walk = walk,
	.release = release,
};

/* Returns the status; the caller frees what was printed. */
static int run_in_style(struct command *command, const struct file_report_ops *ops, bool json,
			enum json_style style, char **ret_text)
{
	char *paths[] = { (char *)"file", NULL };
	struct global_options global = { .json = json, .json_style = style, .verbosity = -1 };
	const struct file_options options = { .global = &global, .paths = paths, .path_count = 1 };
	int status;

	capture_begin();
	status = file_report_run(&command->report, &options, ops, command);
	*ret_text = capture_end();
	return status;
}

static int run(struct command *command, const struct file_report_ops *ops, bool json,
	       char **ret_text)
{
	return run_in_style(command, ops, json, JSON_DOCUMENT, ret_text);
}

static void test_order(void **state)
{
	struct command command = { 0 };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &framed, false, &text), STATUS_OK);
	assert_string_equal(command.calls, "prepare walk total append release");
	assert_string_equal(text, "");
}

static void test_status_of_visits(void **state)
{
	struct command command = { .visited = STATUS_CHECK_FAILED };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &framed, false, &text), STATUS_CHECK_FAILED);
	assert_string_equal(command.calls, "prepare walk total append release");
}

static void test_nothing_could_be_prepared(void **state)
{
	struct command command = { .prepared = -EACCES };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &framed, true, &text), STATUS_ERROR);
	assert_string_equal(command.calls, "prepare release");
	assert_string_equal(text, "ERROR: cannot continue: Permission denied\n");
}

static void test_walk_that_fails(void **state)
{
	struct command command = { .walked = -EROFS };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &framed, false, &text), STATUS_ERROR);
	assert_string_equal(command.calls, "prepare walk release");
	assert_string_equal(text, "ERROR: cannot continue: Read-only file system\n");
}

/* Its JSON is complete all the same, and the error is that of the walk. */
static void test_walk_that_fails_in_json(void **state)
{
	struct command command = { .walked = -EROFS, .totalled = -ENOMEM };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &framed, true, &text), STATUS_ERROR);
	assert_string_equal(command.calls, "prepare walk total release");
	assert_string_equal(text, "{\n"
				  "  \"__header\": {\n"
				  "    \"version\": \"1\"\n"
				  "  },\n"
				  "  \"files\": []\n"
				  "}\n"
				  "ERROR: cannot continue: Read-only file system\n");
}

/* The line of the total is there, too. */
static void test_walk_that_fails_in_lines(void **state)
{
	struct command command = { .walked = -EROFS };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run_in_style(&command, &framed, true, JSON_LINES, &text), STATUS_ERROR);
	assert_string_equal(command.calls, "prepare walk total release");
	assert_string_equal(text, "{\"__header\":{\"version\":\"1\"}}\n"
				  "ERROR: cannot continue: Read-only file system\n");
}

static void test_total_that_fails(void **state)
{
	struct command command = { .totalled = -ENOMEM };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &framed, false, &text), STATUS_ERROR);
	assert_string_equal(command.calls, "prepare walk total release");
}

static void test_without_frame(void **state)
{
	struct command command = { 0 };
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(run(&command, &bare, true, &text), STATUS_OK);
	assert_string_equal(command.calls, "prepare walk release");
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_status_of_visits),
		cmocka_unit_test(test_nothing_could_be_prepared),
		cmocka_unit_test(test_walk_that_fails),
		cmocka_unit_test(test_walk_that_fails_in_json),
		cmocka_unit_test(test_walk_that_fails_in_lines),
		cmocka_unit_test(test_total_that_fails),
		cmocka_unit_test(test_without_frame),
	};

	return cmocka_run_group_tests_name("file-report", tests, NULL, NULL);
}
