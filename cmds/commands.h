/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COMMANDS_H
#define FASTPATH_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "ui/exit-status.h"
#include "ui/options.h"

/* The program that calls a command. As a subcommand of btrfs inspect it can have another name. */
enum command_caller { CALLER_OWN, CALLER_INSPECT };

struct command {
	const char *name;
	/* the name in btrfs inspect, understood elsewhere too, if it differs from NAME, else NULL */
	const char *inspect_name;
	/* btrfs inspect does not have it */
	bool not_in_inspect;
	/* the heading above it and those after it in the list of commands, NULL: as before it */
	const char *question;
	/* the options for sizes change something */
	bool prints_sizes;
	/* it prints the line of --format nagios itself */
	bool prints_plugin;
	/* it has no --check: in the line of --format nagios there is nothing to find */
	bool only_figures;
	/* --format takes only text */
	bool only_text;
	/* what it takes besides FORMATS_COMMON, unless ONLY_TEXT */
	unsigned int more_formats;
	const char *arguments;
	const char *summary;
	/*
	 * ARGV[0] is the command's name in messages. GLOBAL holds the options before the command.
	 * Returns the exit status.
	 */
	int (*run)(int argc, char **argv, struct global_options *global);
};

int fiemap_shared_run(int argc, char **argv, struct global_options *global);
int seek_map_run(int argc, char **argv, struct global_options *global);
int log_stats_run(int argc, char **argv, struct global_options *global);
int nocow_check_run(int argc, char **argv, struct global_options *global);
int send_reada_run(int argc, char **argv, struct global_options *global);
int demo_run(int argc, char **argv, struct global_options *global);
int enable_run(int argc, char **argv, struct global_options *global);
int disable_run(int argc, char **argv, struct global_options *global);
int module_run(int argc, char **argv, struct global_options *global);
int collect_run(int argc, char **argv, struct global_options *global);
int status_run(int argc, char **argv, struct global_options *global);

extern const struct command commands[];
extern const size_t command_count;

enum command_match { COMMAND_NONE, COMMAND_FOUND, COMMAND_AMBIGUOUS };

bool command_is_for(const struct command *command, enum command_caller caller);
const char *command_name(const struct command *command, enum command_caller caller);

/* Finds the command that CALLER calls NAME, or the only one that begins with NAME. */
enum command_match command_find(const char *name, enum command_caller caller,
				const struct command **ret_command);

/* The command whose name, for CALLER, is NAME but for a typo of one or two characters; or NULL. */
const struct command *command_near(const char *name, enum command_caller caller);

/* Parses the options before the command and runs it. Returns the exit status. */
int dispatch(enum command_caller caller, int argc, char **argv);

#endif
