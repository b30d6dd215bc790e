// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "commands.h"
#include "ui/message.h"
#include "ui/standard-files.h"

const struct command commands[] = {
	{
		.name = "fiemap-shared",
		.question = "Where is the data of a file, and who shares it?",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS),
		.arguments = "[OPTION...] PATH...",
		.summary = "Show which extents are shared, with whom, and how long the check takes",
		.run = fiemap_shared_run,
	},
	{
		.name = "seek-map",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS),
		.arguments = "[OPTION...] PATH...",
		.summary = "Show where a file has data and holes, and how long finding them takes",
		.run = seek_map_run,
	},
	{
		.name = "log-stats",
		.question = "What happens at a write and at an fsync?",
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.arguments = "[OPTION...] DIR",
		.summary = "Show how long fsyncs of a growing directory take, and what they commit",
		.run = log_stats_run,
	},
	{
		.name = "nocow-check",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS),
		.arguments = "[OPTION...] PATH...",
		.summary = "Show which writes to a file go in place, which are copied, and why",
		.run = nocow_check_run,
	},
	{
		.name = "send-reada",
		.question = "What does a send consist of?",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS),
		.arguments = "[OPTION...] SUBVOL",
		.summary = "Show what a send consists of, what it reads, and how large it would be",
		.run = send_reada_run,
	},
	{
		.name = "status",
		.question = "What does this system have, and how is it set up?",
		.inspect_name = "fastpath-status",
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS),
		.arguments = "[OPTION...] [PATH]",
		.summary =
			"Show which of the optimised paths the kernel has, and how that is known",
		.run = status_run,
	},
	{
		.name = "collect",
		.is_own_alone = true,
		.arguments = "[OPTION...]",
		.summary = "Write metrics of btrfs, and of configured checks, for Prometheus",
		.run = collect_run,
	},
	{
		.name = "demo",
		.is_own_alone = true,
		.arguments = "[OPTION...] [DIR]",
		.summary = "Show the commands at work on example files, and leave nothing behind",
		.run = demo_run,
	},
	{
		.name = "enable",
		.is_own_alone = true,
		.arguments = "[OPTION...]",
		.summary = "Let calls of btrfs reach the front end, which has these commands, too",
		.run = enable_run,
	},
	{
		.name = "disable",
		.is_own_alone = true,
		.arguments = "[OPTION...]",
		.summary = "Let calls of btrfs reach btrfs-progs again",
		.run = disable_run,
	},
	{
		.name = "module",
		.is_own_alone = true,
		.arguments = "[OPTION...] status|enable|disable",
		.summary = "Show which kernels have the patched module, have it loaded or not",
		.run = module_run,
	},
};

const size_t command_count = sizeof(commands) / sizeof(commands[0]);

bool command_is_for(const struct command *command, enum command_caller caller)
{
	return caller == CALLER_OWN || !command->is_own_alone;
}

const char *command_name(const struct command *command, enum command_caller caller)
{
	return caller == CALLER_INSPECT && command->inspect_name ? command->inspect_name :
								   command->name;
}

/* The name in btrfs inspect, which the pages show, means the same elsewhere; only in full. */
static bool has_inspect_name(const struct command *command, const char *name)
{
	return command->inspect_name && strcmp(command->inspect_name, name) == 0;
}

enum command_match command_find(const char *name, enum command_caller caller,
				const struct command **ret_command)
{
	enum command_match match = COMMAND_NONE;
	size_t length = strlen(name);

	if (!length)
		return COMMAND_NONE;

	for (size_t i = 0; i < command_count; i++) {
		const char *full = command_name(&commands[i], caller);

		if (!command_is_for(&commands[i], caller))
			continue;
		if (has_inspect_name(&commands[i], name)) {
			*ret_command = &commands[i];
			return COMMAND_FOUND;
		}
		if (strncmp(full, name, length) != 0)
			continue;
		*ret_command = &commands[i];
		if (!full[length])
			return COMMAND_FOUND;
		match = match == COMMAND_NONE ? COMMAND_FOUND : COMMAND_AMBIGUOUS;
	}
	return match;
}

struct call {
	struct global_options global;
	enum command_caller caller;
	/* where the command's name is in the arguments, 0: there is none */
	int command_index;
};

static const char *program_name(enum command_caller caller)
{
	return caller == CALLER_INSPECT ? "btrfs inspect" : "btrfs-fastpath";
}

/* A reader must not take the end of nothing for an answer. Returns STATUS, or that of an error. */
static int print_metrics(struct metrics *metrics, int status)
{
	if (!metrics || (status == STATUS_ERROR && metrics_are_empty(metrics)))
		return status;
	if (metrics_write(metrics, stdout, METRICS_OPENMETRICS) < 0) {
		error("out of memory");
		status = STATUS_ERROR;
	}
	return status;
}

/* Nobody got the answer of a plugin that could not write it. Returns the exit status. */
static int finish(const struct global_options *global, int status)
{
	int finished = standard_output_finish(status);

	return global->format == FORMAT_NAGIOS && finished != status ? STATUS_PLUGIN_UNKNOWN :
								       finished;
}

/* Named after the program in its help and messages. */
static int run_command(const struct command *command, struct call *call, int argc, char **argv)
{
	CLEANUP_FREE char *name = NULL;
	int status;

	if (asprintf(&name, "%s %s", program_name(call->caller),
		     command_name(command, call->caller)) < 0) {
		name = NULL;
		error("out of memory");
		return STATUS_ERROR;
	}
	argv[0] = name;
	call->global.formats = FORMATS_COMMON | command->more_formats;
	call->global.prints_sizes = command->prints_sizes;
	status = command->run(argc, argv, &call->global);
	if (!call->global.done)
		status = print_metrics(call->global.metrics, status);
	metrics_freep(&call->global.metrics);
	return finish(&call->global, status);
}

/* Adds the list of commands to the help. */
static char *help_filter(int key, const char *text, void *input)
{
	const struct call *call = input;
	char *list = NULL;
	size_t size;
	FILE *stream;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;

	stream = open_memstream(&list, &size);
	if (!stream)
		return (char *)text;
	fputs("Commands:\n", stream);
	for (size_t i = 0; i < command_count; i++) {
		if (commands[i].question)
			fprintf(stream, " %s\n", commands[i].question);
		if (command_is_for(&commands[i], call->caller))
			fprintf(stream, "  %s %s\n      %s\n",
				command_name(&commands[i], call->caller), commands[i].arguments,
				commands[i].summary);
	}
	fprintf(stream, " Help:\n  help [COMMAND]\n      Print this help or the command's\n\n%s",
		text);
	if (fclose(stream)) {
		free(list);
		return (char *)text;
	}
	return list;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct call *call = state->input;

	(void)argument;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &call->global;
		return 0;
	case ARGP_KEY_ARG:
		call->command_index = state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp main_argp = {
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "COMMAND [OPTION...] [ARGUMENT...]",
	.doc = "Exercise btrfs' optimised paths on a real file system and report the time they take."
	       "\vEach command has its own --help and its own manual page: btrfs-inspect-COMMAND(8) for the "
	       "first five, btrfs-fastpath-COMMAND(8) for the others. btrfs-fastpath-workflows(7) has "
	       "questions of administrators, and the commands that answer them.",
	.help_filter = help_filter,
};

/* With all that it could be. */
static void complain_of_ambiguity(const char *name, enum command_caller caller)
{
	char list[256] = "";

	for (size_t i = 0; i < command_count; i++) {
		const char *full = command_name(&commands[i], caller);
		size_t length = strlen(list);

		if (command_is_for(&commands[i], caller) && strncmp(full, name, strlen(name)) == 0)
			snprintf(list + length, sizeof(list) - length, "%s%s", *list ? ", " : "",
				 full);
	}
	error_value("ambiguous command", name, " (%s)", list);
}

static int find_or_complain(const char *name, enum command_caller caller,
			    const struct command **ret)
{
	switch (command_find(name, caller, ret)) {
	case COMMAND_FOUND:
		return 0;
	case COMMAND_AMBIGUOUS:
		complain_of_ambiguity(name, caller);
		break;
	case COMMAND_NONE:
		error_value("unknown command", name, "%s", "");
		break;
	}
	fprintf(stderr, "Try '%s --help' for the list of commands.\n", program_name(caller));
	return -EINVAL;
}

/* "help" is "--help", and so is "help --help"; "help COMMAND" is "COMMAND --help". */
static int run_help(struct call *call, int argc, char **argv)
{
	static char help_option[] = "--help";
	char *help_argv[] = { argv[0], help_option, NULL };
	const struct command *command;

	if (argc < 2 || strcmp(argv[1], help_option) == 0) {
		options_parse(&main_argp, 2, help_argv, 0, call);
		return standard_output_finish(STATUS_OK);
	}
	if (find_or_complain(argv[1], call->caller, &command) < 0)
		return STATUS_ERROR;
	return run_command(command, call, 2, help_argv);
}

int dispatch(enum command_caller caller, int argc, char **argv)
{
	char *program = (char *)program_name(caller);
	struct call call = { .caller = caller };
	const struct command *command;

	/* A file that gets too large is an error like others, after which files are removed. */
	signal(SIGXFSZ, SIG_IGN);
	argv[0] = program;
	if (options_parse(&main_argp, argc, argv, ARGP_IN_ORDER, &call))
		return STATUS_ERROR;
	if (call.global.done)
		return standard_output_finish(STATUS_OK);
	if (!call.command_index) {
		error("no command given");
		fprintf(stderr, "Try '%s --help' for the list of commands.\n", program);
		return STATUS_ERROR;
	}

	argc -= call.command_index;
	argv += call.command_index;
	if (strcmp(argv[0], "help") == 0) {
		argv[0] = program;
		return run_help(&call, argc, argv);
	}
	if (find_or_complain(argv[0], caller, &command) < 0)
		return STATUS_ERROR;
	return run_command(command, &call, argc, argv);
}
