// SPDX-License-Identifier: GPL-2.0-only
/* A command with the fault that its own name says, for check-falsified to find. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void ask(void)
{
	struct stat status;

	for (int i = 0; i < 100; i++)
		if (stat("/", &status))
			continue;
}

/* Half a GiB in pieces that no limit of a single allocation catches. */
static void take_memory(void)
{
	const size_t size = 16 << 20;
	char *pieces[32];

	for (size_t i = 0; i < 32; i++) {
		pieces[i] = malloc(size);
		if (pieces[i])
			memset(pieces[i], 'x', size);
	}
	for (size_t i = 0; i < 32; i++) {
		/* so that it is not optimised away */
		if (pieces[i] && pieces[i][size / 2] != 'x')
			puts("another letter");
		free(pieces[i]);
	}
}

static int commit(const char *fault, const char *last_argument)
{
	char path[4096];

	if (strcmp(fault, "crash") == 0)
		abort();
	if (strcmp(fault, "endless") == 0)
		for (;;)
			pause();
	if (strcmp(fault, "status") == 0)
		return 2;
	if (strcmp(fault, "silent-error") == 0)
		return 1;
	if (strcmp(fault, "error-and-success") == 0)
		fputs("ERROR: so what\n", stderr);
	if (strcmp(fault, "report") == 0)
		fputs("x.c:1:2: runtime error: index 3 out of bounds\n", stderr);
	if (strcmp(fault, "control-bytes") == 0)
		puts("\033[2J");
	if (strcmp(fault, "memory") == 0)
		take_memory();
	if (strcmp(fault, "left-behind") == 0) {
		snprintf(path, sizeof(path), "%s/left", last_argument);
		mkdir(path, 0700);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *fault = slash ? slash + 1 : argv[0];

	if (strcmp(fault, "uninterested") != 0)
		ask();
	if (strcmp(fault, "invalid-json") == 0)
		puts("{");
	else
		puts("{}");
	fflush(stdout);
	return commit(fault, argv[argc - 1]);
}
