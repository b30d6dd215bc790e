// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cleanup.h"
#include "text/name-escape.h"
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
	OPTION_HELP,
	OPTION_USAGE,
	OPTION_VERSION,
};

/* Behind the commands' own groups. */
#define GROUP_OUTPUT 10
#define GROUP_SIZES 11
#define GROUP_HELP 12

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output, for every command:", GROUP_OUTPUT },
	{ "format", OPTION_FORMAT, "text|json|ndjson", 0, "Print a table, JSON, or JSON lines",
	  GROUP_OUTPUT },
	{ "verbose", 'v', NULL, 0, "Print more", GROUP_OUTPUT },
	{ "quiet", 'q', NULL, 0, "Print no warnings, notes or progress", GROUP_OUTPUT },
	{ "log", OPTION_LOG, "LEVEL", 0, "Level: quiet, default, info, verbose or debug",
	  GROUP_OUTPUT },
	{ NULL, 0, NULL, 0, "Help:", GROUP_HELP },
	{ NULL, 'h', NULL, 0, "Print the help", GROUP_HELP },
	{ "help", OPTION_HELP, "all", OPTION_ARG_OPTIONAL,
	  "Print the help; all: with the common options", GROUP_HELP },
	{ "usage", OPTION_USAGE, NULL, 0, "Print the usage in short", GROUP_HELP },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version", GROUP_HELP },
	{ 0 },
};

/* Apart, since the help of a command that prints no sizes leaves them out. */
static const struct argp_option size_options[] = {
	{ NULL, 0, NULL, 0, "Sizes:", GROUP_SIZES },
	{ "raw", OPTION_RAW, NULL, 0, "Print sizes in bytes, without a unit", GROUP_SIZES },
	{ "human-readable", OPTION_HUMAN_READABLE, NULL, 0,
	  "Print sizes in a unit that fits (the default)", GROUP_SIZES },
	{ "iec", OPTION_IEC, NULL, 0, "Use powers of 1024", GROUP_SIZES },
	{ "si", OPTION_SI, NULL, 0, "Use powers of 1000", GROUP_SIZES },
	{ "kbytes", OPTION_KBYTES, NULL, 0, "Print sizes in KiB, or kB with --si", GROUP_SIZES },
	{ "mbytes", OPTION_MBYTES, NULL, 0, "Print sizes in MiB, or MB with --si", GROUP_SIZES },
	{ "gbytes", OPTION_GBYTES, NULL, 0, "Print sizes in GiB, or GB with --si", GROUP_SIZES },
	{ "tbytes", OPTION_TBYTES, NULL, 0, "Print sizes in TiB, or TB with --si", GROUP_SIZES },
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

/* The keys of argp itself are larger. */
#define FLAG_KEY_MAX (2 * FLAG_KEY)

error_t options_set_flag(int key, void *arguments)
{
	if (key < FLAG_KEY || key >= FLAG_KEY_MAX)
		return ARGP_ERR_UNKNOWN;
	*(bool *)((char *)arguments + (key - FLAG_KEY)) = true;
	return 0;
}

int parse_word(const char *option, const char *text, const char *const *words)
{
	char subject[64], expected[128] = "";
	size_t length = 0;

	for (int i = 0; words[i]; i++) {
		if (strcmp(text, words[i]) == 0)
			return i;
		length += snprintf(expected + length, sizeof(expected) - length, "%s%s",
				   i == 0	? "" :
				   words[i + 1] ? ", " :
						  " or ",
				   words[i]);
	}
	snprintf(subject, sizeof(subject), "invalid value for %s:", option);
	error_value(subject, text, " (expected %s)", expected);
	return -1;
}

error_t check_option_rules(const struct option_rule *rules)
{
	for (; rules->message; rules++) {
		if (!rules->is_broken)
			continue;
		error("%s", rules->message);
		return EINVAL;
	}
	return 0;
}

static error_t refuse_count(const struct argp_state *state, const char *expected, int count)
{
	error_of(state->name, "%s expected, %d given", expected, count);
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

static const char *const format_names[FORMAT_COUNT] = {
	[FORMAT_TEXT] = "text",	    [FORMAT_JSON] = "json",
	[FORMAT_NDJSON] = "ndjson", [FORMAT_OPENMETRICS] = "openmetrics",
	[FORMAT_NAGIOS] = "nagios",
};

/* Their names, apart by COMMA, or LAST before the last one. Returns NULL if there is no memory. */
static char *list_formats(unsigned int formats, const char *comma, const char *last)
{
	unsigned int left = formats;
	char *list = NULL;
	size_t size;
	FILE *stream = open_memstream(&list, &size);

	if (!stream)
		return NULL;
	for (int format = 0; format < FORMAT_COUNT; format++) {
		if (!(formats & FORMAT_BIT(format)))
			continue;
		if (left != formats)
			fputs(left == FORMAT_BIT(format) ? last : comma, stream);
		fputs(format_names[format], stream);
		left &= ~FORMAT_BIT(format);
	}
	if (fclose(stream)) {
		free(list);
		return NULL;
	}
	return list;
}

static bool is_format(const char *name, enum output_format format)
{
	return name && strcmp(name, format_names[format]) == 0;
}

/* Returns 0; or ENOMEM, and complains. */
static error_t begin_format(struct global_options *global, enum output_format format)
{
	global->format = format;
	global->json = format == FORMAT_JSON || format == FORMAT_NDJSON;
	global->json_style = format == FORMAT_NDJSON ? JSON_LINES : JSON_DOCUMENT;
	if (format != FORMAT_OPENMETRICS && (format != FORMAT_NAGIOS || !global->plugin)) {
		metrics_freep(&global->metrics);
		return 0;
	}
	if (!global->metrics)
		global->metrics = metrics_new();
	if (global->metrics)
		return 0;
	error("out of memory");
	return ENOMEM;
}

/* Before the command is known, nothing is known about its formats. */
static error_t check_format(struct global_options *global)
{
	CLEANUP_FREE char *list = NULL;

	if (!global->formats || !global->format_name)
		return 0;
	for (int format = 0; format < FORMAT_COUNT; format++) {
		if ((global->formats & FORMAT_BIT(format)) &&
		    is_format(global->format_name, format)) {
			return begin_format(global, format);
		}
	}
	if (global->formats == FORMAT_BIT(FORMAT_TEXT)) {
		error_value("this command does not support --format", global->format_name, "%s",
			    "");
		return EINVAL;
	}
	list = list_formats(global->formats, ", ", " or ");
	error_value("unknown format", global->format_name, " (expected %s)", list ? list : "text");
	return EINVAL;
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
static error_t end_parsing(struct argp_state *state, struct global_options *global)
{
	global->done = true;
	state->next = state->argc;
	return 0;
}

static error_t parse_size_option(int key, char *argument, struct argp_state *state)
{
	struct global_options *global = state->input;

	(void)argument;
	switch (key) {
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
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp size_argp = { .options = size_options, .parser = parse_size_option };

static const struct argp_child size_children[] = { { &size_argp, 0, NULL, 0 }, { 0 } };

/* -- help -- */

/* More than any command has. */
#define CHILDREN_MAX 4

/* The children of ROOT in CHILDREN, with STAND_IN for global_argp. */
static void replace_global_argp(const struct argp *root, const struct argp *stand_in,
				struct argp_child children[CHILDREN_MAX])
{
	size_t count = 0;

	for (const struct argp_child *c = root->children; c && c->argp && count + 1 < CHILDREN_MAX;
	     c++) {
		children[count] = *c;
		if (c->argp == &global_argp)
			children[count].argp = stand_in;
		count++;
	}
	children[count] = (struct argp_child){ 0 };
}

/* The help of the command, with STAND_IN for what describes the common options. */
static void print_help_with(struct argp_state *state, const struct argp *stand_in)
{
	const struct argp *root = state->root_argp;
	struct argp_child children[CHILDREN_MAX];
	struct argp shown = *root;

	replace_global_argp(root, stand_in, children);
	shown.children = children;
	state->root_argp = &shown;
	argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
	state->root_argp = root;
}

/* The common options in one line. */
static void print_own_help(struct argp_state *state, const struct global_options *global,
			   const char *formats)
{
	bool takes_formats = global->formats != FORMAT_BIT(FORMAT_TEXT);
	CLEANUP_FREE char *line = NULL;
	struct argp_option header[] = { { .group = GROUP_OUTPUT }, { 0 } };
	const struct argp stand_in = { .options = header };

	if (asprintf(&line, "Also %s%s%s%s-q, -v: --help=all", takes_formats ? "--format=" : "",
		     takes_formats ? formats : "", takes_formats ? ", " : "",
		     global->prints_sizes ? "--raw, " : "") < 0)
		line = NULL;
	header[0].doc = line ? line : "See also --help=all";
	print_help_with(state, &stand_in);
}

/* All options; the formats are those of the command. */
static void print_all_help(struct argp_state *state, const struct global_options *global,
			   const char *formats)
{
	struct argp_option shown[sizeof(options) / sizeof(options[0])];
	struct argp stand_in = { .options = shown };

	memcpy(shown, options, sizeof(options));
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (shown[i].key == OPTION_FORMAT)
			shown[i].arg = formats;
	if (global->prints_sizes)
		stand_in.children = size_children;
	print_help_with(state, &stand_in);
}

/* Without a command the help is that of the program, which has all of these options. */
static error_t print_help(struct argp_state *state, struct global_options *global, const char *part)
{
	CLEANUP_FREE char *formats = list_formats(global->formats, "|", "|");

	if (part && strcmp(part, "all") != 0) {
		error_value("unknown help", part, " (expected all)");
		return EINVAL;
	}
	if (!global->formats)
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
	else if (part)
		print_all_help(state, global, formats ? formats : "FORMAT");
	else
		print_own_help(state, global, formats ? formats : "FORMAT");
	return end_parsing(state, global);
}

static bool is_of_other_output(int key)
{
	switch (key) {
	case OPTION_FORMAT:
	case 'h':
	case OPTION_HELP:
	case OPTION_USAGE:
	case OPTION_VERSION:
		return true;
	default:
		return false;
	}
}

/* argp prints an invalid option as it is, and an invalid letter as one byte. */
static bool can_be_printed(const char *word)
{
	CLEANUP_FREE char *escaped = NULL;

	if (word[0] == '-' && word[1] != '-')
		return name_is_plain(word);
	escaped = escape_name(word);
	return escaped && strcmp(escaped, word) == 0;
}

static bool all_can_be_printed(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!can_be_printed(argv[i]))
			return false;
	return true;
}

/* Complains of the INDEXth argument, if it is an option that argp must not print. */
static bool refuse_option(const struct argp_state *state, int index)
{
	if (index >= state->argc || *state->argv[index] != '-' ||
	    can_be_printed(state->argv[index]))
		return false;
	error_value("invalid option", state->argv[index], "%s", "");
	argp_help(state->root_argp, stderr, ARGP_HELP_SEE, state->name);
	return true;
}

/* argp is behind an invalid option, or at a word with an invalid letter. */
static void complain_of_option(const struct argp_state *state)
{
	const struct global_options *global = state->input;

	if ((state->flags & ARGP_NO_ERRS) && global->error_count == message_error_count() &&
	    !refuse_option(state, state->next - 1))
		refuse_option(state, state->next);
}

static error_t parse_global_option(int key, char *argument, struct argp_state *state)
{
	struct global_options *global = state->input;

	if (global->metrics_alone && is_of_other_output(key)) {
		error("--format, --help, --usage and --version print no metrics");
		return EINVAL;
	}
	switch (key) {
	case OPTION_FORMAT:
		global->format_name = argument;
		return check_format(global);
	case OPTION_LOG:
		return parse_log_level(global, argument);
	case 'v':
		global->verbosity++;
		return 0;
	case 'q':
		global->verbosity = -1;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = global;
		global->error_count = message_error_count();
		return 0;
	case ARGP_KEY_END:
		global->has_all_options = true;
		message_set_quiet(global->verbosity < 0);
		/* of an option before the command, too; argp would leak if that failed at the start */
		return global->done ? 0 : check_format(global);
	case ARGP_KEY_ERROR:
		complain_of_option(state);
		return 0;
	case 'h':
	case OPTION_HELP:
		return print_help(state, global, argument);
	case OPTION_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE);
		return end_parsing(state, global);
	case OPTION_VERSION:
		printf("%s\n", PACKAGE_STRING);
		return end_parsing(state, global);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp global_argp = {
	.options = options,
	.parser = parse_global_option,
	.children = size_children,
};

const struct argp_child global_argp_children[] = { { &global_argp, 0, NULL, 0 }, { 0 } };

/* For argp_parse(): errors return instead of ending the program, -h is ours. */
#define ARGP_FLAGS (ARGP_NO_EXIT | ARGP_NO_HELP)

/* No other option begins with --fo. */
bool options_ask_for_format(int argc, char **argv, const struct global_options *global,
			    enum output_format format)
{
	static const char option[] = "--format";
	const char *name = global->format_name;

	if (global->has_all_options)
		return global->format == format;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t length = strcspn(argv[i], "=");

		if (length < strlen("--fo") || strncmp(argv[i], option, length) != 0)
			continue;
		if (argv[i][length])
			name = argv[i] + length + 1;
		else if (i + 1 < argc)
			name = argv[++i];
	}
	return is_format(name, format);
}

error_t options_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		      void *input)
{
	unsigned int error_count = message_error_count();
	error_t ret;

	flags |= ARGP_FLAGS;
	if (all_can_be_printed(argc, argv))
		return argp_parse(argp, argc, argv, flags, NULL, input);
	ret = argp_parse(argp, argc, argv, flags | ARGP_NO_ERRS, NULL, input);
	/* Nothing was printed, because the word that is wrong can be printed by argp. */
	if (ret && message_error_count() == error_count)
		return argp_parse(argp, argc, argv, flags, NULL, input);
	return ret;
}
