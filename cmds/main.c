// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "sys/cleanup.h"
#include "ui/message.h"
#include "ui/standard-files.h"

/*
 * A btrfs-progs with the patch in contrib/btrfs-progs runs its external commands by names that begin
 * so. They are links to this program.
 */
static const char external_prefix[] = "btrfs-inspect-internal-";

/* The command for which PROGRAM, a path, is a link, or NULL. */
static char *external_command(char *program)
{
	const size_t length = sizeof(external_prefix) - 1;
	char *slash = strrchr(program, '/');
	char *name = slash ? slash + 1 : program;

	return strncmp(name, external_prefix, length) == 0 ? name + length : NULL;
}

/* The global options come after the name then, where every command takes them, too. */
static int run_external(char *command, int argc, char **argv)
{
	CLEANUP_FREE char **words = calloc(argc + 2, sizeof(*words));

	if (!words) {
		error("out of memory");
		return STATUS_ERROR;
	}
	words[0] = argv[0];
	words[1] = command;
	memcpy(words + 2, argv + 1, (argc - 1) * sizeof(*words));
	return dispatch(CALLER_INSPECT, argc + 1, words);
}

int main(int argc, char **argv)
{
	char *command = argc > 0 ? external_command(argv[0]) : NULL;

	if (standard_files_reserve() < 0)
		return STATUS_ERROR;
	setlocale(LC_CTYPE, "");
	return command ? run_external(command, argc, argv) : dispatch(CALLER_OWN, argc, argv);
}
