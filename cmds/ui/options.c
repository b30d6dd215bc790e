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
	{ "format", OPTION_FORMAT, "text|json|ndjson", 0,
	  "Print a table (the default), JSON, or JSON with an object on each line", GROUP_OUTPUT },
	{ "verbose", 'v', NULL, 0, "Print more", GROUP_OUTPUT },
	{ "quiet", 'q', NULL, 0, "Print no warnings, notes or progress", GROUP_OUTPUT },
	{ "log", OPTION_LOG, "LEVEL", 0,
	  "Set by name how much is printed: quiet, default, info, verbose or debug", GROUP_OUTPUT },
	{ NULL, 0, NULL, 0, "Help:", GROUP_HELP },
	{ NULL, 'h', NULL, 0, "Print the help", GROUP_HELP },
	{ "help", OPTION_HELP, "all", OPTION_ARG_OPTIONAL,
	  "Print the help; all: with the options that every command has", GROUP_HELP },
	{ "usage", OPTION_USAGE, NULL, 0, "Print the usage in short", GROUP_HELP },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version", GROUP_HELP },
	{ 0 },
};

/* Apart, since the help of a command that prints no sizes leaves them out. */
static const struct argp_option size_options[] = {
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
	if (format != FORMAT_OPENMETRICS) {
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
static error_t finish(struct argp_state *state, struct global_options *global)
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
	CLEANUP_FREE char *line = NULL;
	struct argp_option header[] = { { .group = GROUP_OUTPUT }, { 0 } };
	const struct argp stand_in = { .options = header };

	if (asprintf(&line, "Also --format=%s,%s -q, -v: see --help=all", formats,
		     global->prints_sizes ? " --raw," : "") < 0)
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
	return finish(state, global);
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

static error_t parse(int key, char *argument, struct argp_state *state)
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
		return 0;
	case ARGP_KEY_END:
		message_set_quiet(global->verbosity < 0);
		/* of an option before the command, too; argp would leak if that failed at the start */
		return global->done ? 0 : check_format(global);
	case 'h':
	case OPTION_HELP:
		return print_help(state, global, argument);
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

const struct argp global_argp = {
	.options = options,
	.parser = parse,
	.children = size_children,
};

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

/* The argument of the last --format, or NULL. */
static const char *find_format(const struct known_options *known, int argc, char **argv)
{
	const char *name = NULL;
	int key;

	/* begin anew, and say nothing */
	optind = 0;
	opterr = 0;
	while ((key = getopt_long(argc, argv, known->letters, known->names, NULL)) != -1)
		if (key == OPTION_FORMAT)
			name = optarg;
	return name;
}

bool options_ask_for_format(const struct argp *argp, int argc, char **argv,
			    const struct global_options *global, enum output_format format)
{
	CLEANUP(known_options_free) struct known_options known = { 0 };
	const char *name;

	if (known_options_init(&known, argp, false) < 0)
		return false;
	name = find_format(&known, argc, argv);
	return is_format(name ? name : global->format_name, format);
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
