// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/message.h"
#include "ui/options.h"

TEST(test_parse_count)
{
	static const struct {
		const char *text;
		uint64_t most;
		uint64_t count;
	} cases[] = {
		{ "1", 1, 1 },
		{ "007", 7, 7 },
		{ "1000", 1000, 1000 },
		{ "18446744073709551615", UINT64_MAX, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t count = 99;

		assert_int_equal(parse_count("--repeat", cases[i].text, cases[i].most, &count), 0);
		assert_int_equal(count, cases[i].count);
	}
}

TEST(test_parse_count_errors)
{
	static const char *const texts[] = {
		"", "0", "-1", "+1", " 1", "1 ", "x", "1x", "1k", "0x1", "1.5", "1001", "\xd9\xa1",
	};

	uint64_t count = 99;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse_count("--repeat", texts[i], 1000, &count), EINVAL);
	assert_int_equal(parse_count("--repeat", "18446744073709551616", UINT64_MAX, &count),
			 EINVAL);
	assert_int_equal(count, 99);
}

static void assert_warned(char *option, const char *expected)
{
	char program[] = "program", verbose[] = "-v";
	char *argv[] = { program, verbose, option, NULL };
	struct global_options global = { 0 };
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	assert_int_equal(options_parse(&global_argp, 3, argv, 0, &global), 0);
	warning("odd");
	text = capture_end();
	assert_string_equal(text, expected);
}

TEST(test_quiet)
{
	char quiet[] = "--quiet", by_name[] = "--log=quiet", standard[] = "--log=default";

	assert_warned(quiet, "");
	assert_warned(standard, "WARNING: odd\n");
	assert_warned(by_name, "");
	assert_warned(standard, "WARNING: odd\n");
}

static void assert_formats(const struct global_options *global)
{
	bool lines = global->format == FORMAT_NDJSON;

	assert_int_equal(global->json, global->format == FORMAT_JSON || lines);
	assert_int_equal(global->json_style, lines ? JSON_LINES : JSON_DOCUMENT);
}

/* A command takes its own formats alone, after its name or before it. */
TEST(test_formats)
{
	static const struct {
		const char *before;
		const char *after;
		unsigned int formats;
		const char *printed;
	} cases[] = {
		{ NULL, "text", FORMATS_COMMON, "" },
		{ "json", NULL, FORMATS_COMMON, "" },
		{ NULL, "ndjson", FORMATS_COMMON, "" },
		{ "ndjson", "json", FORMATS_COMMON, "" },
		{ "json", "ndjson", FORMATS_COMMON, "" },
		{ "nagios", "json", FORMATS_COMMON | FORMAT_BIT(FORMAT_NAGIOS), "" },
		{ "nagios", NULL, FORMATS_COMMON,
		  "ERROR: unknown format 'nagios' (expected text, json or ndjson)\n" },
		{ NULL, "xml", FORMATS_COMMON | FORMAT_BIT(FORMAT_NAGIOS),
		  "ERROR: unknown format 'xml' (expected text, json, ndjson or nagios)\n" },
		{ NULL, "nagios", FORMAT_BIT(FORMAT_TEXT),
		  "ERROR: this command does not support --format 'nagios'\n" },
		{ NULL, "text", FORMAT_BIT(FORMAT_TEXT), "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char program[] = "program", format[] = "--format";
		char *argv[] = { program, format, (char *)cases[i].after, NULL };
		struct global_options global = {
			.formats = cases[i].formats,
			.format_name = cases[i].before,
		};
		int argc = cases[i].after ? 3 : 1;
		CLEANUP_FREE char *printed = NULL;
		error_t ret;

		capture_begin();
		ret = options_parse(&global_argp, argc, argv, 0, &global);
		printed = capture_end();
		assert_string_equal(printed, cases[i].printed);
		assert_int_equal(ret, *cases[i].printed ? EINVAL : 0);
		if (ret == 0)
			assert_formats(&global);
	}
}

/* Also where the command line is wrong. */
TEST(test_ask_for_format)
{
	char program[] = "program", format[] = "--format=nagios", wrong[] = "--wrong";
	char json[] = "--format=json";
	char *asked[] = { program, wrong, format, NULL };
	char *replaced[] = { program, format, json, NULL };
	struct global_options none = { 0 }, before = { .format_name = "nagios" };

	assert_true(options_ask_for_format(3, asked, &none, FORMAT_NAGIOS));
	assert_false(options_ask_for_format(2, asked, &none, FORMAT_NAGIOS));
	assert_true(options_ask_for_format(2, asked, &before, FORMAT_NAGIOS));
	assert_false(options_ask_for_format(3, replaced, &before, FORMAT_NAGIOS));
}

static void assert_rules(bool first, bool second, const char *expected)
{
	const struct option_rule rules[] = {
		{ first, "--a cannot be combined with --b" },
		{ second, "--c requires 100% of --d" },
		{ 0 },
	};
	CLEANUP_FREE char *printed = NULL;

	capture_begin();
	assert_int_equal(check_option_rules(rules), *expected ? EINVAL : 0);
	printed = capture_end();
	assert_string_equal(printed, expected);
}

/* The first rule that is broken is the one that is reported. */
TEST(test_rules)
{
	assert_rules(false, false, "");
	assert_rules(true, true, "ERROR: --a cannot be combined with --b\n");
	assert_rules(false, true, "ERROR: --c requires 100% of --d\n");
}

/* What is invalid is escaped, if it has to be, and the rest of the command line does not matter. */
TEST(test_invalid_options)
{
	static const struct {
		const char *option;
		const char *printed;
	} cases[] = {
		{ "--wr\1ng", "ERROR: invalid option '--wr\\x01ng'\n" },
		{ "--wrong=\1", "ERROR: invalid option '--wrong=\\x01'\n" },
		{ "-\1", "ERROR: invalid option '-\\x01'\n" },
		{ "-\1v", "ERROR: invalid option '-\\x01v'\n" },
		{ "-v\1", "ERROR: invalid option '-v\\x01'\n" },
		{ "-\303\251", "ERROR: invalid option '-\303\251'\n" },
		{ "--log=\1", "ERROR: unknown log level '\\x01' "
			      "(expected quiet, default, info, verbose or debug)\n" },
		{ "--wrong", "program: unrecognized option" },
		{ "--log", "program: option" },
	};
	char program[] = "program", odd[] = "o\1dd";

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *argv[] = { program, odd, (char *)cases[i].option, NULL };
		struct global_options global = { 0 };
		CLEANUP_FREE char *printed = NULL;

		capture_begin();
		assert_int_equal(options_parse(&global_argp, 3, argv, 0, &global), EINVAL);
		printed = capture_end();
		assert_memory_equal(printed, cases[i].printed, strlen(cases[i].printed));
		assert_null(strchr(printed, 1));
	}
}

static error_t pass_input(int key, char *argument, struct argp_state *state)
{
	(void)argument;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static char *help_of(char *option, unsigned int formats, bool prints_sizes, error_t expected)
{
	static const struct argp_option own[] = { { "own", 'o', NULL, 0, "Own", 1 }, { 0 } };
	static const struct argp command = {
		.options = own,
		.parser = pass_input,
		.children = global_argp_children,
	};
	char program[] = "program", after[] = "--nothing";
	char *argv[] = { program, option, after, NULL };
	struct global_options global = { .formats = formats, .prints_sizes = prints_sizes };
	char *printed;
	error_t ret;

	capture_begin();
	ret = options_parse(&command, 3, argv, 0, &global);
	printed = capture_end();
	assert_int_equal(ret, expected);
	assert_int_equal(global.done, !expected);
	return printed;
}

static void assert_has(const char *text, const char *part, bool expected)
{
	if (!strstr(text, part) == expected)
		fail_msg("'%s' in: %s", part, text);
}

/* The help of a command has its own options, and all of it the common ones. */
TEST(test_help)
{
	char help[] = "--help", letter[] = "-h", all[] = "--help=all", other[] = "--help=x";
	unsigned int formats = FORMATS_COMMON | FORMAT_BIT(FORMAT_NAGIOS);
	CLEANUP_FREE char *brief = help_of(help, formats, true, 0);
	CLEANUP_FREE char *without = help_of(letter, FORMATS_COMMON, false, 0);
	CLEANUP_FREE char *full = help_of(all, formats, true, 0);
	CLEANUP_FREE char *full_without = help_of(all, FORMATS_COMMON, false, 0);
	CLEANUP_FREE char *wrong = help_of(other, FORMATS_COMMON, true, EINVAL);

	assert_has(brief, "--own", true);
	assert_has(brief, "--log", false);
	assert_has(brief, " Also --format=text|json|ndjson|nagios, --raw, -q, -v: --help=all\n",
		   true);
	assert_has(without, " Also --format=text|json|ndjson, -q, -v: --help=all\n", true);
	assert_has(full, "--own", true);
	assert_has(full, "--format=text|json|ndjson|nagios\n", true);
	assert_has(full, "--kbytes", true);
	assert_has(full_without, "--log", true);
	assert_has(full_without, "--kbytes", false);
	assert_string_equal(wrong, "ERROR: unknown help 'x' (expected all)\n");
}
