/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_OPTIONS_H
#define FASTPATH_FILE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "fs/fiemap.h"
#include "fs/file-walk.h"
#include "ui/options.h"

/* The files, and the range of each file, that a command reports on. */
struct file_options {
	struct global_options *global;
	struct byte_range range;
	/* the command can run without a path */
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
 * Parse the command line with ARGP into ARGUMENTS, which contains FILES, and call COMMAND unless
 * the help or the version was printed. Returns the exit status.
 */
int file_command_run(const struct argp *argp, int argc, char **argv, file_command *command,
		     void *arguments, const struct file_options *files);

/* If RET is a negative errno, print the error that ended the work on the files. */
void file_options_complain(const struct file_options *options, int ret);

/* Whether the user named a file, or a list of files. */
bool file_options_ask_for_any(const struct file_options *options);

/* Whether the report can have more than one file. */
bool file_options_ask_for_several(const struct file_options *options);

/* Whether a file can be found twice, from several starting points, so files are remembered. */
bool file_options_can_overlap(const struct file_options *options);

/*
 * Begin a walk over the selected files. ENTERED and DATA are as in struct file_walk_options. Returns as file_walk_new(), or a negative errno if the list
 * of --files0-from cannot be opened.
 */
int file_options_walk(const struct file_options *options,
		      int (*entered)(void *data, int fd, const struct stat *status), void *data,
		      struct file_walk **ret_walk);

#endif
