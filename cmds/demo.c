// SPDX-License-Identifier: GPL-2.0-only
/* The commands on example files, by a script that is installed with the program. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/trusted-program.h"
#include "commands.h"
#include "ui/message.h"

static const char script[] = DEMO_SCRIPT;

struct arguments {
	struct global_options *global;
	const char *directory;
	int directory_count;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		arguments->directory = text;
		arguments->directory_count++;
		return 0;
	case ARGP_KEY_END:
		return arguments->global->done ?
			       0 :
			       expect_one_argument_at_most(state, arguments->directory_count);
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "[DIR]",
	.doc = "Show the commands at work on example files, and explain what each one answers. The "
	       "files are made on a new btrfs in an image, or in DIR, a directory on btrfs in which "
	       "nobody but root can replace files.\vIt takes less than a minute and 1 GiB of space, "
	       "needs root, and leaves nothing behind, even after Ctrl-C.",
};

/* Returns the path of the running program, or NULL and complains. */
static const char *own_path(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length < 0) {
		error_path("cannot read", "/proc/self/exe", -errno);
		return NULL;
	}
	path[length] = '\0';
	return path;
}

/* Returns only after an error, which it prints. */
static void become_script(const char *directory)
{
	char path[PATH_MAX];
	char *argv[] = { (char *)script, (char *)own_path(path), (char *)directory, NULL };
	int ret = trusted_program_check(script);

	if (!argv[1])
		return;
	if (ret == -EPERM)
		error_path("others can change", script, 0);
	else if (ret < 0)
		error_path("cannot run", script, ret);
	if (ret < 0)
		return;
	execv(script, argv);
	error_path("cannot run", script, -errno);
}

int demo_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (global->json) {
		error("demo prints text");
		return STATUS_ERROR;
	}
	if (geteuid() != 0) {
		error("demo needs root");
		return STATUS_ERROR;
	}
	become_script(arguments.directory);
	return STATUS_ERROR;
}
