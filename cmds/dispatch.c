// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "sys/cleanup.h"
#include "sys/process-copy.h"
#include "sys/stop-request.h"
#include "ui/message.h"
#include "ui/plugin.h"
#include "ui/standard-files.h"

const struct command commands[] = {
	{
		.name = "fiemap-shared",
		.question = "Where is the data of a file, and who shares it?",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.only_figures = true,
		.arguments = "[OPTION...] PATH...",
		.summary = "Show which data files share, with whom, and what deleting frees",
		.run = fiemap_shared_run,
	},
	{
		.name = "seek-map",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.arguments = "[OPTION...] PATH...",
		.summary = "Show where a file has data and holes, and how long finding them takes",
		.run = seek_map_run,
	},
	{
		.name = "log-stats",
		.question = "What happens at a write and at an fsync?",
		.prints_plugin = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.arguments = "[OPTION...] DIR",
		.summary = "Show how long fsyncs of a growing directory take, and what they commit",
		.run = log_stats_run,
	},
	{
		.name = "nocow-check",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.arguments = "[OPTION...] PATH...",
		.summary = "Show which writes to a file go in place, which are copied, and why",
		.run = nocow_check_run,
	},
	{
		.name = "send-reada",
		.question = "What does a send contain?",
		.prints_sizes = true,
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.only_figures = true,
		.arguments = "[OPTION...] SUBVOL",
		.summary = "Show what a send contains and reads, and how large it is",
		.run = send_reada_run,
	},
	{
		.name = "status",
		.question = "What does this system have, and how is it set up?",
		.inspect_name = "fastpath-status",
		.more_formats = FORMAT_BIT(FORMAT_OPENMETRICS) | FORMAT_BIT(FORMAT_NAGIOS),
		.arguments = "[OPTION...] [PATH]",
		.summary = "Show which features the kernel has, and how that is known",
		.run = status_run,
	},
	{
		.name = "collect",
		.not_in_inspect = true,
		.only_text = true,
		.arguments = "[OPTION...]",
		.summary = "Write metrics of btrfs, and of configured checks, for Prometheus",
		.run = collect_run,
	},
	{
		.name = "demo",
		.not_in_inspect = true,
		.only_text = true,
		.arguments = "[OPTION...] [DIR]",
		.summary = "Answer three questions on example files, and leave nothing behind",
		.run = demo_run,
	},
	{
		.name = "enable",
		.not_in_inspect = true,
		.arguments = "[OPTION...]",
		.summary = "Add these commands to btrfs inspect",
		.run = enable_run,
	},
	{
		.name = "disable",
		.not_in_inspect = true,
		.arguments = "[OPTION...]",
		.summary = "Remove these commands from btrfs inspect",
		.run = disable_run,
	},
	{
		.name = "module",
		.not_in_inspect = true,
		.arguments = "[OPTION...] status|enable|disable",
		.summary = "Show which kernels have the patched module, enable or disable it",
		.run = module_run,
	},
};

const size_t command_count = sizeof(commands) / sizeof(commands[0]);

bool command_is_for(const struct command *command, enum command_caller caller)
{
	return caller == CALLER_OWN || !command->not_in_inspect;
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

/* -- typos -- */

#define TYPOS_MAX 2
#define NAME_SIZE_MAX 32

/* How many characters have to be inserted, removed or replaced to make B of A; both are short. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NAME_SIZE_MAX], b_length = strlen(b);

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_length; j++) {
			size_t replaced = diagonal + (a[i] != b[j]);
			size_t shortest = row[j] < row[j + 1] ? row[j] : row[j + 1];

			diagonal = row[j + 1];
			row[j + 1] = replaced <= shortest ? replaced : shortest + 1;
		}
	}
	return row[b_length];
}

const struct command *command_near(const char *name, enum command_caller caller)
{
	const struct command *nearest = NULL;
	size_t least = TYPOS_MAX + 1;

	if (strlen(name) >= NAME_SIZE_MAX)
		return NULL;
	for (size_t i = 0; i < command_count; i++) {
		const char *full = command_name(&commands[i], caller);
		size_t distance = edit_distance(full, name);

		/* Half of a short name is no typo. */
		if (!command_is_for(&commands[i], caller) || distance >= least ||
		    2 * distance >= strlen(full))
			continue;
		nearest = &commands[i];
		least = distance;
	}
	return nearest;
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

static bool is_plugin(const struct global_options *global, int argc, char **argv)
{
	return !global->done && global->plugin && global->formats & FORMAT_BIT(FORMAT_NAGIOS) &&
	       options_ask_for_format(argc, argv, global, FORMAT_NAGIOS);
}

/* Nobody got the answer of a plugin that could not write it. Returns the exit status. */
static int finish(const struct global_options *global, int status)
{
	int finished = standard_output_finish(status);

	return global->format == FORMAT_NAGIOS && finished != status ? STATUS_PLUGIN_UNKNOWN :
								       finished;
}

/* Returns the name of COMMAND in its help and messages, which the caller frees, or NULL. */
static char *begin_command(struct call *call, const struct command *command)
{
	char *name;

	if (asprintf(&name, "%s %s", program_name(call->caller),
		     command_name(command, call->caller)) < 0) {
		error("out of memory");
		return NULL;
	}
	call->global.formats = command->only_text ? FORMAT_BIT(FORMAT_TEXT) :
						    FORMATS_COMMON | command->more_formats;
	call->global.prints_sizes = command->prints_sizes;
	call->global.plugin = command->prints_plugin ? NULL : command->name;
	call->global.has_all_options = false;
	call->global.finding = command->only_figures ? "figures without a limit" : NULL;
	return name;
}

/* Returns the exit status, unless a thread is stuck: then the process ends here. */
static int end_command(struct global_options *global, int status, int argc, char **argv)
{
	if (is_plugin(global, argc, argv))
		status = plugin_print(status, global);
	else if (!global->done)
		status = print_metrics(global->metrics, status);
	metrics_freep(&global->metrics);
	status = finish(global, status);
	stop_request_end();
	if (global->has_stuck_thread) {
		process_copy_leave(status);
		_exit(status);
	}
	return status;
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

static error_t parse_command_name(int key, char *argument, struct argp_state *state)
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
	.parser = parse_command_name,
	.children = global_argp_children,
	.args_doc = "COMMAND [OPTION...] [ARGUMENT...]",
	.doc = "Show who shares the data of files on btrfs, and why operations on them are slow."
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
	const struct command *near = NULL;

	switch (command_find(name, caller, ret)) {
	case COMMAND_FOUND:
		return 0;
	case COMMAND_AMBIGUOUS:
		complain_of_ambiguity(name, caller);
		break;
	case COMMAND_NONE:
		error_value("unknown command", name, "%s", "");
		near = command_near(name, caller);
		break;
	}
	if (near)
		fprintf(stderr, "Did you mean '%s'?\n", command_name(near, caller));
	fprintf(stderr, "Try '%s --help' for the list of commands.\n", program_name(caller));
	return -EINVAL;
}

static char help_option[] = "--help";

static int print_program_help(struct call *call, char *program)
{
	char *argv[] = { program, help_option, NULL };

	options_parse(&main_argp, 2, argv, 0, call);
	return standard_output_finish(STATUS_OK);
}

/* "help" is "--help", and so is "help --help"; "help COMMAND" is "COMMAND --help". */
static bool asks_for_program_help(int argc, char **argv)
{
	return strcmp(argv[0], "help") == 0 && (argc < 2 || strcmp(argv[1], help_option) == 0);
}

int dispatch(enum command_caller caller, int argc, char **argv)
{
	char *program = (char *)program_name(caller);
	struct call call = { .caller = caller };
	const struct command *command;
	CLEANUP_FREE char *name = NULL;

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
	if (asks_for_program_help(argc, argv))
		return print_program_help(&call, program);
	if (strcmp(argv[0], "help") == 0) {
		argv[0] = argv[1];
		argv[1] = help_option;
		argv[argc = 2] = NULL;
	}
	if (find_or_complain(argv[0], caller, &command) < 0)
		return STATUS_ERROR;
	name = begin_command(&call, command);
	if (!name)
		return STATUS_ERROR;
	argv[0] = name;
	return end_command(&call.global, command->run(argc, argv, &call.global), argc, argv);
}
