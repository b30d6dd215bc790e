/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPTIONS_H
#define FASTPATH_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "ui/json.h"
#include "ui/metrics.h"

/* What --format takes; their names are in options.c. */
enum output_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_NDJSON,
	FORMAT_OPENMETRICS,
	FORMAT_NAGIOS,
	FORMAT_COUNT,
};

/* A set of formats. */
#define FORMAT_BIT(format) (1u << (format))
/* Every command has these. */
#define FORMATS_COMMON \
	(FORMAT_BIT(FORMAT_TEXT) | FORMAT_BIT(FORMAT_JSON) | FORMAT_BIT(FORMAT_NDJSON))

/* The options that can be given before or after the command's name. */
struct global_options {
	/* those that the command has; 0 before the command is known */
	unsigned int formats;
	/* the command prints sizes, so its help has the options for them */
	bool prints_sizes;
	/* the argument of the last --format, NULL: none */
	const char *format_name;
	enum output_format format;
	/* the format is FORMAT_JSON or FORMAT_NDJSON; which one, the style says */
	bool json;
	enum json_style json_style;
	/* the samples of FORMAT_OPENMETRICS, or of a caller that collects them; else NULL */
	struct metrics *metrics;
	/* the caller wants nothing but metrics: what prints something else is an error */
	bool metrics_alone;
	/* -1 with -q: only errors; else the number of times that -v was given */
	int verbosity;
	struct size_format sizes;
	/* the help or the version was printed, so there is nothing left to do */
	bool done;
	/* set by a command with -r: see struct file_visit */
	uint64_t skipped_mount_count;
};

/* Parses these options; its input is a struct global_options. */
extern const struct argp global_argp;

/* Contains only GLOBAL_ARGP; the command's parser sets its input. */
extern const struct argp_child global_argp_children[];

/* Parse the number that OPTION takes, from 1 to MOST. Returns 0, or EINVAL after printing an error. */
error_t parse_count(const char *option, const char *text, uint64_t most, uint64_t *ret_count);

/* Check how many arguments a command has. Return 0, or EINVAL after printing an error. */
error_t expect_one_argument(const struct argp_state *state, int count);
error_t expect_one_argument_at_most(const struct argp_state *state, int count);
error_t expect_no_arguments(const struct argp_state *state, int count);

/*
 * Whether the command line asks for FORMAT, also if it has errors, or an option before the command
 * does. This permutes ARGV as getopt_long() does.
 */
bool options_ask_for_format(const struct argp *argp, int argc, char **argv,
			    const struct global_options *global, enum output_format format);

/*
 * Parses the command line with ARGP and the FLAGS of argp_parse(). An error does not end the
 * program, and parts of the command line in its message are escaped. Returns 0, or an errno after
 * printing an error.
 */
error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input);

#endif
