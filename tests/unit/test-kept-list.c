// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test.h"
#include "ui/kept-list.h"

static void assert_reads(FILE *stream, const char *text, size_t size)
{
	char buffer[64];

	assert_int_equal(fread(buffer, 1, sizeof(buffer), stream), size);
	assert_memory_equal(buffer, text, size);
	assert_true(feof(stream));
	fclose(stream);
}

TEST(test_a_pipe_is_read_again)
{
	struct kept_list list = { 0 };
	int ends[2];
	FILE *stream;

	assert_int_equal(pipe(ends), 0);
	stream = kept_list_open(&list, fdopen(ends[0], "r"));
	assert_non_null(stream);
	assert_int_equal(write(ends[1], "one\0two", 8), 8);
	close(ends[1]);
	assert_reads(stream, "one\0two", 8);
	for (int i = 0; i < 2; i++) {
		stream = kept_list_reopen(&list);
		assert_non_null(stream);
		assert_reads(stream, "one\0two", 8);
	}
	kept_list_free(&list);
	assert_null(list.source);
}

static FILE *pipe_with(const char *text, size_t size)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, size), size);
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* It is read once, and only another look is refused. */
static void assert_not_kept(int error)
{
	struct kept_list list = { 0 };
	FILE *stream = kept_list_open(&list, pipe_with("one\0two", 8));

	assert_non_null(stream);
	assert_reads(stream, "one\0two", 8);
	errno = 0;
	assert_null(kept_list_reopen(&list));
	assert_int_equal(errno, error);
	kept_list_free(&list);
}

TEST(test_no_temporary_directory)
{
	setenv("TMPDIR", "/missing", 1);
	assert_not_kept(ENOENT);
	unsetenv("TMPDIR");
}

TEST(test_no_space_for_a_copy)
{
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ 0, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_not_kept(EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}
