// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name-escape.h"
#include "ui/message.h"
#include "ui/options.h"

enum {
	OPTION_FORMAT = 0x1000,
	OPTION_LOG,
	OPTION_RAW,
	OPTION_HUMAN_READABLE,
	OPTION_IEC,
	OPTION_SI,
	OPTION_KBYTES,
	OPTION_MBYTES,
	OPTION_GBYTES,
	OPTION_TBYTES,
	OPTION_USAGE,
	OPTION_VERSION,
};

/* Behind the commands' own groups. */
#define GROUP_OUTPUT 10
#define GROUP_SIZES 11
#define GROUP_HELP 12

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output, for every command:", GROUP_OUTPUT },
	{ "format", OPTION_FORMAT, "text|json|openmetrics|nagios", 0,
	  "Print a table (the default), JSON, metrics, or the line of a monitoring plugin",
	  GROUP_OUTPUT },
	{ "verbose", 'v', NULL, 0, "Print more", GROUP_OUTPUT },
	{ "quiet", 'q', NULL, 0, "Print no warnings, notes or progress", GROUP_OUTPUT },
	{ "log", OPTION_LOG, "LEVEL", 0,
	  "Set by name how much is printed: quiet, default, info, verbose or debug", GROUP_OUTPUT },
	{ NULL, 0, NULL, 0, "Sizes:", GROUP_SIZES },
	{ "raw", OPTION_RAW, NULL, 0, "Print sizes in bytes, without a unit", GROUP_SIZES },
	{ "human-readable", OPTION_HUMAN_READABLE, NULL, 0,
	  "Print sizes in a unit that fits, powers of 1024 (the default)", GROUP_SIZES },
	{ "iec", OPTION_IEC, NULL, 0, "Use powers of 1024", GROUP_SIZES },
	{ "si", OPTION_SI, NULL, 0, "Use powers of 1000", GROUP_SIZES },
	{ "kbytes", OPTION_KBYTES, NULL, 0, "Print sizes in KiB, or kB with --si", GROUP_SIZES },
	{ "mbytes", OPTION_MBYTES, NULL, 0, "Print sizes in MiB, or MB with --si", GROUP_SIZES },
	{ "gbytes", OPTION_GBYTES, NULL, 0, "Print sizes in GiB, or GB with --si", GROUP_SIZES },
	{ "tbytes", OPTION_TBYTES, NULL, 0, "Print sizes in TiB, or TB with --si", GROUP_SIZES },
	{ NULL, 0, NULL, 0, "Help:", GROUP_HELP },
	{ "help", 'h', NULL, 0, "Print this help", GROUP_HELP },
	{ "usage", OPTION_USAGE, NULL, 0, "Print the usage in short", GROUP_HELP },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version", GROUP_HELP },
	{ 0 },
};

error_t parse_count(const char *option, const char *text, uint64_t most, uint64_t *ret_count)
{
	char subject[64];
	uintmax_t count;
	char *end;

	errno = 0;
	count = strtoumax(text, &end, 10);
	/* It takes blanks and a sign, too. */
	if (errno || !isdigit((unsigned char)*text) || *end || !count || count > most) {
		snprintf(subject, sizeof(subject), "invalid value for %s:", option);
		error_value(subject, text, " (expected 1 to %" PRIu64 ")", most);
		return EINVAL;
	}
	*ret_count = count;
	return 0;
}

static error_t refuse_count(const struct argp_state *state, const char *expected, int count)
{
	fprintf(stderr, "%s: %s expected, %d given\n", state->name, expected, count);
	return EINVAL;
}

error_t expect_one_argument(const struct argp_state *state, int count)
{
	return count == 1 ? 0 : refuse_count(state, "exactly 1 argument", count);
}

error_t expect_one_argument_at_most(const struct argp_state *state, int count)
{
	return count <= 1 ? 0 : refuse_count(state, "1 argument at most", count);
}

error_t expect_no_arguments(const struct argp_state *state, int count)
{
	return count == 0 ? 0 : refuse_count(state, "no arguments", count);
}

static error_t begin_metrics(struct global_options *global)
{
	global->metrics = metrics_new();
	if (global->metrics)
		return 0;
	error("out of memory");
	return ENOMEM;
}

static error_t parse_format(struct global_options *global, const char *format)
{
	metrics_freep(&global->metrics);
	global->json = strcmp(format, "json") == 0;
	global->nagios = strcmp(format, "nagios") == 0;
	if (global->json || global->nagios || strcmp(format, "text") == 0)
		return 0;
	if (strcmp(format, "openmetrics") == 0)
		return begin_metrics(global);
	error_value("unknown format", format, " (expected text, json, openmetrics or nagios)");
	return EINVAL;
}

/* Once the command is known. */
static error_t check_format(const struct global_options *global)
{
	if (global->metrics && !(global->formats & FORMAT_OPENMETRICS)) {
		error("this command has no metrics");
		return EINVAL;
	}
	if (global->nagios && !(global->formats & FORMAT_NAGIOS)) {
		error("this command is no monitoring plugin: log-stats is");
		return EINVAL;
	}
	return 0;
}

static error_t parse_log_level(struct global_options *global, const char *level)
{
	static const struct {
		const char *name;
		int verbosity;
	} levels[] = {
		{ "quiet", -1 }, { "default", 0 }, { "info", 0 }, { "verbose", 1 }, { "debug", 2 },
	};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (strcmp(level, levels[i].name) == 0) {
			global->verbosity = levels[i].verbosity;
			return 0;
		}
	}
	error_value("unknown log level", level,
		    " (expected quiet, default, info, verbose or debug)");
	return EINVAL;
}

/* Nothing behind --help matters any more. */
static error_t finish(struct argp_state *state, struct global_options *global)
{
	global->done = true;
	state->next = state->argc;
	return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct global_options *global = state->input;

	switch (key) {
	case OPTION_FORMAT:
		return parse_format(global, argument);
	case OPTION_LOG:
		return parse_log_level(global, argument);
	case 'v':
		global->verbosity++;
		return 0;
	case 'q':
		global->verbosity = -1;
		return 0;
	case OPTION_RAW:
		global->sizes.base = SIZE_RAW;
		return 0;
	case OPTION_HUMAN_READABLE:
		global->sizes = (struct size_format){ .base = SIZE_IEC };
		return 0;
	case OPTION_IEC:
		global->sizes.base = SIZE_IEC;
		return 0;
	case OPTION_SI:
		global->sizes.base = SIZE_SI;
		return 0;
	case OPTION_KBYTES:
	case OPTION_MBYTES:
	case OPTION_GBYTES:
	case OPTION_TBYTES:
		global->sizes.power = key - OPTION_KBYTES + 1;
		if (global->sizes.base == SIZE_RAW)
			global->sizes.base = SIZE_IEC;
		return 0;
	case ARGP_KEY_END:
		message_set_quiet(global->verbosity < 0);
		return global->done ? 0 : check_format(global);
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
		return finish(state, global);
	case OPTION_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE);
		return finish(state, global);
	case OPTION_VERSION:
		printf("%s\n", PACKAGE_STRING);
		return finish(state, global);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp global_argp = { .options = options, .parser = parse };

const struct argp_child global_argp_children[] = { { &global_argp, 0, NULL, 0 }, { 0 } };

/* For argp_parse(): errors return instead of ending the program, -h is ours. */
#define ARGP_FLAGS (ARGP_NO_EXIT | ARGP_NO_HELP)

/* A parser's options as getopt_long() wants them. */
struct known_options {
	struct option *names;
	size_t count;
	char *letters;
};

static void known_options_free(struct known_options *known)
{
	free(known->names);
	free(known->letters);
}

static bool is_last(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc && !option->group;
}

static int kind_of_argument(const struct argp_option *option)
{
	if (!option->arg)
		return no_argument;
	return option->flags & OPTION_ARG_OPTIONAL ? optional_argument : required_argument;
}

/* Keeps the names ended by zeros. Returns 0 or -ENOMEM. */
static int add_name(struct known_options *known, const struct argp_option *option)
{
	struct option *names = reallocarray(known->names, known->count + 2, sizeof(*names));

	if (!names)
		return -ENOMEM;
	known->names = names;
	names[known->count++] = (struct option){
		.name = option->name,
		.has_arg = kind_of_argument(option),
		.val = option->key,
	};
	names[known->count] = (struct option){ 0 };
	return 0;
}

/* Those of ARGP and of its children. Returns 0 or -ENOMEM. */
static int add_options(struct known_options *known, FILE *letters, const struct argp *argp)
{
	static const char *const colons[] = {
		[no_argument] = "",
		[required_argument] = ":",
		[optional_argument] = "::",
	};
	int ret = 0;

	for (const struct argp_option *o = argp->options; ret == 0 && o && !is_last(o); o++) {
		if (o->key > 0 && o->key <= UCHAR_MAX && isprint(o->key))
			fprintf(letters, "%c%s", o->key, colons[kind_of_argument(o)]);
		if (o->name)
			ret = add_name(known, o);
	}
	for (const struct argp_child *c = argp->children; ret == 0 && c && c->argp; c++)
		ret = add_options(known, letters, c->argp);
	return ret;
}

static int known_options_init(struct known_options *known, const struct argp *argp, bool in_order)
{
	size_t size;
	FILE *letters = open_memstream(&known->letters, &size);
	int ret;

	if (!letters)
		return -ENOMEM;
	fputs(in_order ? "+" : "", letters);
	ret = add_options(known, letters, argp);
	return fclose(letters) ? -ENOMEM : ret;
}

static bool shows_as_it_is(const char *word)
{
	CLEANUP_FREE char *escaped = escape_name(word);

	return escaped && strcmp(escaped, word) == 0;
}

/* Whether KEY is that of a known option without a letter. */
static bool is_long_key(const struct known_options *known, int key)
{
	for (size_t i = 0; i < known->count; i++)
		if (key > UCHAR_MAX && known->names[i].val == key)
			return true;
	return false;
}

/* Complains of an option that is not known and that argp would print byte for byte. */
static error_t check_options(const struct argp *argp, const struct known_options *known, int argc,
			     char **argv)
{
	int key;

	/* begin anew, and say nothing */
	optind = 0;
	opterr = 0;
	while ((key = getopt_long(argc, argv, known->letters, known->names, NULL)) != -1) {
		/* glibc takes a byte for a letter, and musl a character */
		bool is_wide = optopt > UCHAR_MAX;
		char letter[2 + MB_LEN_MAX];
		const char *word = optopt ? letter : argv[optind - 1];

		/* argp prints the name of an option that it knows */
		if (key != '?' || is_long_key(known, optopt))
			continue;
		snprintf(letter, sizeof(letter), is_wide ? "-%lc" : "-%c", optopt);
		if (!is_wide && shows_as_it_is(word))
			continue;
		error_value("unknown option", word, "%s", "");
		argp_help(argp, stderr, ARGP_HELP_SEE, argv[0]);
		return EINVAL;
	}
	return 0;
}

static bool all_show_as_they_are(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!shows_as_it_is(argv[i]))
			return false;
	return true;
}

error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input)
{
	CLEANUP(known_options_free) struct known_options known = { 0 };

	if (!all_show_as_they_are(argc, argv)) {
		if (known_options_init(&known, argp, flags & ARGP_IN_ORDER) < 0) {
			error("out of memory");
			return ENOMEM;
		}
		if (check_options(argp, &known, argc, argv))
			return EINVAL;
	}
	return argp_parse(argp, argc, argv, ARGP_FLAGS | flags, NULL, input);
}
