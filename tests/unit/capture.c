// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture.h"
#include "test.h"

static FILE *captured;
static int saved_output;
static int saved_error;

void capture_begin(void)
{
	fflush(stdout);
	captured = tmpfile();
	assert_non_null(captured);
	saved_output = dup(STDOUT_FILENO);
	saved_error = dup(STDERR_FILENO);
	assert_true(saved_output >= 0 && saved_error >= 0);
	dup2(fileno(captured), STDOUT_FILENO);
	dup2(fileno(captured), STDERR_FILENO);
}

char *capture_end(void)
{
	char *text;
	long size;

	fflush(stdout);
	dup2(saved_output, STDOUT_FILENO);
	dup2(saved_error, STDERR_FILENO);
	close(saved_output);
	close(saved_error);
	fseek(captured, 0, SEEK_END);
	size = ftell(captured);
	rewind(captured);
	text = calloc(1, size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, size, captured), size);
	fclose(captured);
	return text;
}
