// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"
#include "options.h"

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
	{ "format", OPTION_FORMAT, "text|json", 0, "Print a table (the default) or JSON",
	  GROUP_OUTPUT },
	{ "verbose", 'v', NULL, 0, "Print more", GROUP_OUTPUT },
	{ "quiet", 'q', NULL, 0, "Print no warnings, notes or progress", GROUP_OUTPUT },
	{ "log", OPTION_LOG, "LEVEL", 0, "The same by name: quiet, default, info, verbose or debug",
	  GROUP_OUTPUT },
	{ NULL, 0, NULL, 0, "Sizes:", GROUP_SIZES },
	{ "raw", OPTION_RAW, NULL, 0, "In bytes, without a unit", GROUP_SIZES },
	{ "human-readable", OPTION_HUMAN_READABLE, NULL, 0,
	  "In a unit that fits, powers of 1024 (the default)", GROUP_SIZES },
	{ "iec", OPTION_IEC, NULL, 0, "Powers of 1024", GROUP_SIZES },
	{ "si", OPTION_SI, NULL, 0, "Powers of 1000", GROUP_SIZES },
	{ "kbytes", OPTION_KBYTES, NULL, 0, "In KiB, or kB with --si", GROUP_SIZES },
	{ "mbytes", OPTION_MBYTES, NULL, 0, "In MiB, or MB with --si", GROUP_SIZES },
	{ "gbytes", OPTION_GBYTES, NULL, 0, "In GiB, or GB with --si", GROUP_SIZES },
	{ "tbytes", OPTION_TBYTES, NULL, 0, "In TiB, or TB with --si", GROUP_SIZES },
	{ NULL, 0, NULL, 0, "Help:", GROUP_HELP },
	{ "help", 'h', NULL, 0, "Print this help", GROUP_HELP },
	{ "usage", OPTION_USAGE, NULL, 0, "Print the usage in short", GROUP_HELP },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version", GROUP_HELP },
	{ 0 },
};

error_t parse_count(const char *what, const char *text, uint64_t most, uint64_t *ret_count)
{
	uintmax_t count;
	char *end;

	errno = 0;
	count = strtoumax(text, &end, 10);
	/* It takes blanks and a sign, too. */
	if (errno || !isdigit((unsigned char)*text) || *end || !count || count > most) {
		error("invalid number of %s '%s': 1 to %" PRIu64 " expected", what, text, most);
		return EINVAL;
	}
	*ret_count = count;
	return 0;
}

error_t expect_one_argument(const struct argp_state *state, int count)
{
	if (count == 1)
		return 0;
	fprintf(stderr, "%s: exactly 1 argument expected, %d given\n", state->name, count);
	return EINVAL;
}

static error_t parse_format(struct global_options *global, const char *format)
{
	if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0) {
		error("unknown format '%s': text or json expected", format);
		return EINVAL;
	}
	global->json = strcmp(format, "json") == 0;
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
	error("unknown log level '%s': quiet, default, info, verbose or debug expected", level);
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
