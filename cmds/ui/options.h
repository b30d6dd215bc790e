/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPTIONS_H
#define FASTPATH_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

/* What can be said before or after the command's name. */
struct global_options {
	bool json;
	/* -1: errors alone, 0, 1 and more: what -v adds */
	int verbosity;
	struct size_format sizes;
	/* help or the version was printed: there is nothing left to do */
	bool done;
};

/* The options above; its input is a struct global_options. */
extern const struct argp global_argp;

/* GLOBAL_ARGP alone, whose input a command's parser hands it. */
extern const struct argp_child global_argp_children[];

/* An option's number of WHAT, from 1 to MOST. Returns EINVAL for anything else, and complains. */
error_t parse_count(const char *what, const char *text, uint64_t most, uint64_t *ret_count);

/* Returns EINVAL where a command got COUNT arguments instead of 1, and complains. */
error_t expect_one_argument(const struct argp_state *state, int count);

/*
 * Parses the command line by ARGP, with argp_parse()'s FLAGS; errors return instead of ending the
 * program, and what they print of the command line is escaped. Returns 0, or an errno after a
 * complaint.
 */
error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input);

#endif
