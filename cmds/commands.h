/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COMMANDS_H
#define FASTPATH_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* The exit statuses of every command. */
enum {
	STATUS_OK = 0,
	STATUS_ERROR = 1,
	STATUS_CHECK_FAILED = 64,
};

struct command {
	const char *name;
	const char *arguments;
	const char *summary;
	/*
	 * ARGV[0] is the name to call the command by. GLOBAL holds what was said before the
	 * command's name. Returns the exit status.
	 */
	int (*run)(int argc, char **argv, struct global_options *global);
};

int fiemap_shared_run(int argc, char **argv, struct global_options *global);
int seek_map_run(int argc, char **argv, struct global_options *global);
int log_stats_run(int argc, char **argv, struct global_options *global);
int nocow_check_run(int argc, char **argv, struct global_options *global);
int send_reada_run(int argc, char **argv, struct global_options *global);

extern const struct command commands[];
extern const size_t command_count;

enum command_match { COMMAND_NONE, COMMAND_FOUND, COMMAND_AMBIGUOUS };

/* Finds the command called NAME, or the only one that begins with NAME. */
enum command_match command_find(const char *name, const struct command **ret_command);

/* Runs COMMAND, named after PROGRAM in its help and messages. Returns the exit status. */
int command_run(const struct command *command, const char *program, int argc, char **argv,
		struct global_options *global);

/* Parses the options before the command and runs it. Returns the exit status. */
int dispatch(const char *program, int argc, char **argv);

#endif
