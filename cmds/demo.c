// SPDX-License-Identifier: GPL-2.0-only
/* Runs the commands on example files, by a script that is installed with the program. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "commands.h"
#include "path/trusted-file.h"
#include "ui/message.h"

static const char script[] = DEMO_SCRIPT;

struct demo_options {
	struct global_options *global;
	const char *directory;
	int directory_count;
	bool all;
};

static const struct argp_option option_list[] = {
	{ "all", FLAG(struct demo_options, all), NULL, 0,
	  "Show every command, not only three questions", 1 },
	{ 0 },
};

static error_t parse_demo_option(int key, char *text, struct argp_state *state)
{
	struct demo_options *arguments = state->input;

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
		return options_set_flag(key, arguments);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_demo_option,
	.children = global_argp_children,
	.args_doc = "[DIR]",
	.doc = "Answer three questions of administrators on example files: what deleting frees, "
	       "whether a slow copy is the kernel's fault, and whether writes go in place. The "
	       "files are on a new btrfs in an image, or in DIR, a directory on btrfs where only "
	       "root can replace files.\vRequires root and at most 1 GiB of space, takes less than "
	       "a minute, and removes everything at the end, also after Ctrl-C.",
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
static void become_script(const struct demo_options *arguments)
{
	char path[PATH_MAX];
	char *argv[] = { (char *)script, (char *)own_path(path), NULL, NULL, NULL };
	int count = 2;
	int ret = trusted_program_check(script);

	if (!argv[1])
		return;
	if (ret == -EPERM)
		error_path("other users can modify", script, 0);
	else if (ret < 0)
		error_path("cannot run", script, ret);
	if (ret < 0)
		return;
	if (arguments->all)
		argv[count++] = "--all";
	argv[count] = (char *)arguments->directory;
	execv(script, argv);
	error_path("cannot run", script, -errno);
}

int demo_run(int argc, char **argv, struct global_options *global)
{
	struct demo_options arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (geteuid() != 0) {
		error("demo requires root");
		return STATUS_ERROR;
	}
	become_script(&arguments);
	return STATUS_ERROR;
}
