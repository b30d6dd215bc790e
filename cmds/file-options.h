/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_OPTIONS_H
#define FASTPATH_FILE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "fiemap.h"
#include "file-walk.h"
#include "options.h"

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

/* Whether more than one named file is asked for. */
bool file_options_ask_for_several(const struct file_options *options);

/* Whether files have to be remembered, since several starting points can lead to one. */
bool file_options_can_overlap(const struct file_options *options);

/*
 * Open --files0-from's list, NULL if there is none, and complain where it cannot be.
 * Returns 0 or a negative errno; closed with file_options_close_list().
 */
int file_options_open_list(const struct file_options *options, FILE **ret_list);
void file_options_close_list(FILE *list);

/* A walk over the files asked for. Returns as file_walk_new(). */
int file_options_walk(const struct file_options *options, FILE *list, struct file_walk **ret_walk);

#endif
