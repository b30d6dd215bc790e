/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_OPTIONS_H
#define FASTPATH_FILE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "fs/fiemap.h"
#include "fs/file-walk.h"
#include "ui/options.h"

/* Which files, and which part of them, a command looks at. */
struct file_options {
	struct global_options *global;
	struct byte_range range;
	/* the command has something to do without any */
	bool paths_optional;
	bool recursive;
	bool one_file_system;
	const char *files0_from;
	char **paths;
	int path_count;
};

/* The options and the PATH arguments; its input is a struct file_options with GLOBAL set. */
extern const struct argp file_argp;

/* FILE_ARGP and GLOBAL_ARGP, whose inputs a command's parser hands them in this order. */
extern const struct argp_child file_argp_children[];

/* Does the work of a command. Returns the exit status. */
typedef int file_command(const void *arguments);

/*
 * Parse the command line by ARGP into ARGUMENTS, which FILES is a part of, and call COMMAND unless
 * help or the version was asked for. Returns the exit status.
 */
int file_command_run(const struct argp *argp, int argc, char **argv, file_command *command,
		     void *arguments, const struct file_options *files);

/* Complain that RET, if it is an errno, ended the work on the files. */
void file_options_complain(const struct file_options *options, int ret);

/* Whether there is a file to look at. */
bool file_options_ask_for_any(const struct file_options *options);

/* Whether more than one named file is asked for. */
bool file_options_ask_for_several(const struct file_options *options);

/* Whether files have to be remembered, since several starting points can lead to one. */
bool file_options_can_overlap(const struct file_options *options);

/*
 * A walk over the files asked for. Returns as file_walk_new(), or a negative errno if the list of
 * --files0-from cannot be opened.
 */
int file_options_walk(const struct file_options *options, struct file_walk **ret_walk);

#endif
