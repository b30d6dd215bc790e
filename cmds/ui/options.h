/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPTIONS_H
#define FASTPATH_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/units.h"
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
	/* the parser came to the end of the command line: what looks like an option there is an argument */
	bool has_all_options;
	/* the command's name in the line of FORMAT_NAGIOS, NULL: the command prints this line itself */
	const char *plugin;
	/* what this line says: what a check found, or that there is none; NULL: the check passed */
	const char *finding;
	/* the format is FORMAT_JSON or FORMAT_NDJSON; which one, the style says */
	bool json;
	enum json_style json_style;
	/* the samples of FORMAT_OPENMETRICS or FORMAT_NAGIOS, or of a caller that collects them; else NULL */
	struct metrics *metrics;
	/* the caller wants nothing but metrics: what prints something else is an error */
	bool metrics_alone;
	/* -1 with -q: only errors; else the number of times that -v was given */
	int verbosity;
	struct size_format sizes;
	/* before these options were parsed: see message_error_count() */
	unsigned int error_count;
	/* the help or the version was printed, or another process did the work */
	bool done;
	/* set by a command with -r: see struct files */
	uint64_t skipped_mount_count;
	/* set by a command: it gave up a thread, so this process cannot end by itself */
	bool has_stuck_thread;
};

/* Parses these options; its input is a struct global_options. */
extern const struct argp global_argp;

/* Contains only GLOBAL_ARGP; the command's parser sets its input. */
extern const struct argp_child global_argp_children[];

/*
 * The key of a long option without an argument, which sets the bool MEMBER of the command's arguments, a TYPE. The parser
 * leaves it to options_set_flag().
 */
#define FLAG_KEY 0x10000
#define FLAG(type, member) \
	(FLAG_KEY + _Generic(((type *)0)->member, bool : (int)offsetof(type, member)))

/* Sets what KEY is a FLAG() for. Returns 0; or ARGP_ERR_UNKNOWN, and has changed nothing. */
error_t options_set_flag(int key, void *arguments);

/* Parse the number that OPTION takes, from 1 to MOST. Returns 0, or EINVAL after printing an error. */
error_t parse_count(const char *option, const char *text, uint64_t most, uint64_t *ret_count);

/* The index of the value of OPTION in WORDS, which end with NULL; or -1 after printing an error. */
int parse_word(const char *option, const char *text, const char *const *words);

/* Options that cannot be combined, or that require others; a table ends with MESSAGE NULL. */
struct option_rule {
	/* the command line has such options */
	bool is_broken;
	const char *message;
};

/* Print the message of the first rule that is broken. Returns 0, or EINVAL after that. */
error_t check_option_rules(const struct option_rule *rules);

/* Check how many arguments a command has. Return 0, or EINVAL after printing an error. */
error_t expect_one_argument(const struct argp_state *state, int count);
error_t expect_one_argument_at_most(const struct argp_state *state, int count);
error_t expect_no_arguments(const struct argp_state *state, int count);

/*
 * Whether the command line asks for FORMAT, also if it has errors, or an option before the command
 * does.
 */
bool options_ask_for_format(int argc, char **argv, const struct global_options *global,
			    enum output_format format);

/*
 * Parses the command line with ARGP and the FLAGS of argp_parse(). An error does not end the
 * program, and parts of the command line in its message are escaped. Returns 0, or an errno after
 * printing an error.
 */
error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input);

#endif
