// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fs/inode-flags.h"
#include "nocow-check-exercise.h"
#include "nocow-check-file.h"
#include "nocow-check-report.h"
#include "nocow-check-verdict.h"
#include "nocow/nocow.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/row-sort.h"

#define RANGES_PER_PROGRESS 4096

#define DEFAULT_SIZE (256ULL << 20)
#define DEFAULT_SECONDS 10
#define SECONDS_MAX 86400

/* -- options -- */

struct arguments {
	struct global_options *global;
	struct file_options files;
	struct sort_options sort;
	struct check_options check;
	bool extents;
	bool summary;
	bool sync;
	/* --exercise: without a directory there is none */
	struct exercise_plan exercise;
	/* one of its options was given */
	bool exercise_options;
};

enum {
	OPTION_CHECK = 0x2000,
	OPTION_EXPECT_NOCOW,
	OPTION_MAX_COPIED,
	OPTION_IGNORE_REASON,
	OPTION_SYNC,
	OPTION_EXERCISE,
	OPTION_SECONDS,
	OPTION_ENGINE,
	OPTION_SCRATCH,
	OPTION_SIZE,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "extents", 'e', NULL, 0,
	  "Print a row for each range: what happens to the next write, and why", 1 },
	{ "summary", 's', NULL, 0, "Print only the sums of all files, a row for each reason", 1 },
	{ "summarize", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "check", OPTION_CHECK, NULL, 0,
	  "Exit with status 64 if any part of a NOCOW file would be copied or has checksums (root)",
	  1 },
	{ "expect-nocow", OPTION_EXPECT_NOCOW, "always|directory", OPTION_ARG_OPTIONAL,
	  "With --check, find every file that is not NOCOW, or only those in directories that are",
	  1 },
	{ "max-copied", OPTION_MAX_COPIED, "LIMIT", 0,
	  "With --check, allow so much of a file to be copied: 20%, or 64M", 1 },
	{ "ignore-reason", OPTION_IGNORE_REASON, "REASONS", 0,
	  "With --check, do not count what is copied for these reasons alone, with commas between",
	  1 },
	{ "sync", OPTION_SYNC, NULL, 0, "Write back the data of each file first", 1 },
	{ NULL, 0, NULL, 0, "Random direct writes, and a proof of their place:", 2 },
	{ "exercise", OPTION_EXERCISE, "DIR", 0, "Write to an unnamed scratch file in DIR", 2 },
	{ "scratch", OPTION_SCRATCH, "prealloc|nocow", 0,
	  "The kind of scratch file: preallocated (the default; each block is written at most once), or NOCOW",
	  2 },
	{ "size", OPTION_SIZE, "SIZE", 0, "The size of the scratch file (256M)", 2 },
	{ "seconds", OPTION_SECONDS, "N", 0, "Write for N seconds (10)", 2 },
	{ "engine", OPTION_ENGINE, "fio|builtin", 0,
	  "Choose the program that writes (fio if it is installed)", 2 },
	{ 0 },
};

static error_t parse_engine(struct arguments *arguments, const char *text)
{
	if (strcmp(text, "fio") == 0)
		arguments->exercise.engine = ENGINE_FIO;
	else if (strcmp(text, "builtin") == 0)
		arguments->exercise.engine = ENGINE_BUILTIN;
	else {
		error_value("invalid value for --engine:", text, " (expected fio or builtin)");
		return EINVAL;
	}
	return 0;
}

static error_t parse_scratch(struct arguments *arguments, const char *text)
{
	if (strcmp(text, "prealloc") == 0)
		arguments->exercise.scratch = SCRATCH_PREALLOC;
	else if (strcmp(text, "nocow") == 0)
		arguments->exercise.scratch = SCRATCH_NOCOW;
	else {
		error_value("invalid value for --scratch:", text, " (expected prealloc or nocow)");
		return EINVAL;
	}
	return 0;
}

static error_t parse_scratch_size(struct arguments *arguments, const char *text)
{
	uint64_t size;

	if (parse_size(text, &size) < 0 || !size || size % SCRATCH_BLOCK ||
	    size > EXERCISE_SIZE_MAX) {
		error_value("invalid size", text, " (expected a multiple of 64K up to 8G)");
		return EINVAL;
	}
	arguments->exercise.size = size;
	return 0;
}

static error_t parse_exercise_option(struct arguments *arguments, int key, const char *text)
{
	switch (key) {
	case OPTION_SECONDS:
		return parse_count("--seconds", text, SECONDS_MAX, &arguments->exercise.seconds);
	case OPTION_ENGINE:
		return parse_engine(arguments, text);
	case OPTION_SCRATCH:
		return parse_scratch(arguments, text);
	default:
		return parse_scratch_size(arguments, text);
	}
}

static bool asks_about_files(const struct arguments *arguments)
{
	const struct file_options *files = &arguments->files;

	return arguments->check.check || arguments->sort.key || arguments->extents ||
	       arguments->sync || files->recursive || files->one_file_system ||
	       files->range.offset || files->range.length != WHOLE_FILE.length;
}

static error_t check_arguments(struct arguments *arguments)
{
	if (arguments->global->done)
		return 0;
	if (arguments->global->metrics) {
		if (arguments->extents || arguments->exercise.directory) {
			error("metrics are the sums of all files: no --extents, no --exercise");
			return EINVAL;
		}
		arguments->summary = true;
	}
	if (arguments->summary && arguments->extents) {
		error("--summary cannot be combined with --extents");
		return EINVAL;
	}
	if (arguments->sort.key && (arguments->summary || arguments->extents)) {
		error("--sort and --top cannot be combined with --summary or --extents");
		return EINVAL;
	}
	if (arguments->check.is_refined && !arguments->check.check) {
		error("--expect-nocow, --max-copied and --ignore-reason need --check");
		return EINVAL;
	}
	if (arguments->exercise_options && !arguments->exercise.directory) {
		error("--scratch, --size, --seconds and --engine need --exercise");
		return EINVAL;
	}
	if (!file_options_ask_for_any(&arguments->files) && asks_about_files(arguments)) {
		error("with --exercise, --check, --extents, --sync, --sort, --top, --range, -r and -x need a PATH");
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'e':
		arguments->extents = true;
		return 0;
	case 's':
		arguments->summary = true;
		return 0;
	case OPTION_CHECK:
		arguments->check.check = true;
		return 0;
	case OPTION_EXPECT_NOCOW:
		return check_parse_expect(&arguments->check, text);
	case OPTION_MAX_COPIED:
		return check_parse_max_copied(&arguments->check, text);
	case OPTION_IGNORE_REASON:
		return check_parse_ignored(&arguments->check, text);
	case OPTION_SYNC:
		arguments->sync = true;
		return 0;
	case OPTION_EXERCISE:
		arguments->exercise.directory = text;
		arguments->files.paths_optional = true;
		return 0;
	case OPTION_SECONDS:
	case OPTION_ENGINE:
	case OPTION_SCRATCH:
	case OPTION_SIZE:
		arguments->exercise_options = true;
		return parse_exercise_option(arguments, key, text);
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->sort;
		state->child_inputs[1] = &arguments->files;
		state->child_inputs[2] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child argp_children[] = {
	{ &sort_argp, 0, NULL, 0 },
	{ &file_argp, 0, NULL, 0 },
	{ &global_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = argp_children,
	.args_doc = "PATH...",
	.doc = "Show for each range of a file on btrfs whether the next write goes in place or "
	       "is copied, and why.\vWithout options there is a row for each file, and a "
	       "total. Without root a part of the answers is unknown.",
};

/* -- the columns -- */

static uint64_t copied_of(const void *row)
{
	const struct findings *findings = row;

	return nocow_sums_bytes_of(&findings->sums, NOCOW_COPIED);
}

static uint64_t in_place_of(const void *row)
{
	const struct findings *findings = row;

	return nocow_sums_bytes_of(&findings->sums, NOCOW_IN_PLACE);
}

static uint64_t new_of(const void *row)
{
	const struct findings *findings = row;

	return nocow_sums_bytes_of(&findings->sums, NOCOW_NEW);
}

static uint64_t unknown_of(const void *row)
{
	const struct findings *findings = row;

	return nocow_sums_bytes_of(&findings->sums, NOCOW_UNKNOWN);
}

static uint64_t checksums_of(const void *row)
{
	const struct findings *findings = row;

	return findings->sums.csum_bytes;
}

static uint64_t extents_of(const void *row)
{
	const struct findings *findings = row;

	return findings->sums.extent_count;
}

static const struct sort_key sort_keys[] = {
	{ "copied", copied_of },
	{ "in-place", in_place_of },
	{ "new", new_of },
	{ "unknown", unknown_of },
	{ "checksums", checksums_of },
	{ "extents", extents_of },
	{ "path", NULL },
	{ 0 },
};

/* -- the whole run -- */

struct scan {
	const struct arguments *arguments;
	struct file_report files;
	struct report report;
	struct nocow_iter *iter;
	struct known_subvolume subvolume;
	struct nocow_sums total;
	/* with --sort or --top; the rows are struct findings */
	struct row_sort *rows;
};

bool findings_are_complete(const struct findings *findings)
{
	return findings->file.searchable && !findings->sums.counts[NOCOW_REASON_UNKNOWN];
}

/* -- one file -- */

static int look_at_file(struct scan *scan, const struct opened_file *opened,
			struct findings *findings)
{
	/* So the kernel says of a mount and of a subvolume alike. */
	findings->read_only = faccessat(opened->fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
			      errno == EROFS;
	return nocow_check_look_at_file(&scan->subvolume, opened->fd, &opened->status,
					&findings->file);
}

static int go_over_ranges(struct scan *scan, struct findings *findings)
{
	const struct arguments *arguments = scan->arguments;
	struct nocow_range range;
	uint64_t count = 0;
	int ret;

	ret = nocow_iter_start(scan->iter, &findings->file, arguments->files.range,
			       arguments->sync ? FIEMAP_FLAG_SYNC : 0);
	if (ret < 0)
		return ret;
	while ((ret = nocow_iter_next(scan->iter, &range)) > 0) {
		nocow_sums_add_range(&findings->sums, &range);
		verdict_add_range(&arguments->check, findings, &range);
		if (arguments->extents)
			ret = scan->report.ops->range(&scan->report, &range);
		if (ret < 0)
			return ret;
		if (++count % RANGES_PER_PROGRESS == 0 && progress_due())
			progress_show("%" PRIu64 " files, then %" PRIu64 " ranges",
				      scan->files.file_count, count);
	}
	return ret;
}

/* Finds out all that is not known before. Returns 0 or a negative errno. */
static int examine(struct scan *scan, struct findings *findings)
{
	int ret = go_over_ranges(scan, findings);

	findings->sums.extent_count = nocow_iter_extent_count(scan->iter);
	if (ret == 0)
		ret = verdict_reach(&scan->arguments->check, findings);
	findings->error = ret;
	return ret;
}

static int tell_of_file(struct scan *scan, struct findings *findings)
{
	struct report *report = &scan->report;
	int ret, ended;

	ret = report->ops->begin_file(report, findings);
	if (ret < 0)
		return ret;
	ret = examine(scan, findings);
	ended = report->ops->end_file(report, findings);
	return ret < 0 ? ret : ended;
}

/* For --sort and --top. */
static int keep_file(struct scan *scan, struct findings *findings)
{
	int ret = examine(scan, findings);
	int kept = row_sort_add(scan->rows, findings->path, findings);

	return ret < 0 ? ret : kept;
}

static int report_findings(struct scan *scan, struct findings *findings)
{
	if (scan->arguments->summary)
		return examine(scan, findings);
	return scan->rows ? keep_file(scan, findings) : tell_of_file(scan, findings);
}

static int report_row(void *data, const char *path, void *row)
{
	struct scan *scan = data;
	struct report *report = &scan->report;
	struct findings *findings = row;
	int ret;

	findings->path = path;
	ret = report->ops->begin_file(report, findings);
	return ret < 0 ? ret : report->ops->end_file(report, findings);
}

static int report_rows(void *data)
{
	struct scan *scan = data;

	return scan->rows ? row_sort_report(scan->rows, report_row, scan) : 0;
}

static void set_status(struct scan *scan, enum verdict verdict)
{
	int *status = &scan->files.visit.status;

	if (verdict == VERDICT_UNKNOWN)
		*status = STATUS_ERROR;
	else if (verdict_alarms(verdict) && *status == STATUS_OK)
		*status = STATUS_CHECK_FAILED;
}

/* Counts a file that was reported, and says what --check found. */
static void count_file(struct scan *scan, const struct findings *findings)
{
	const struct arguments *arguments = scan->arguments;
	struct report *report = &scan->report;

	nocow_sums_add(&scan->total, &findings->sums);
	scan->files.file_count++;
	report->hints |= 1u << nocow_hint_of(&findings->file, &findings->sums);
	if (verdict_alarms(findings->verdict))
		report->alarm_count++;
	if (findings->verdict == VERDICT_UNKNOWN)
		report->unknown_count++;
	verdict_complain(&arguments->check, findings, arguments->global->sizes);
	set_status(scan, findings->verdict);
}

static struct failure report_file(void *data, const struct opened_file *opened)
{
	struct scan *scan = data;
	struct findings findings = { .path = opened->path };
	int ret;

	ret = look_at_file(scan, opened, &findings);
	if (ret == 0)
		ret = report_findings(scan, &findings);
	if (ret < 0)
		return (struct failure){ "cannot examine", ret };
	count_file(scan, &findings);
	return NO_FAILURE;
}

/* -- the command -- */

static int prepare(void *data)
{
	struct scan *scan = data;
	int ret;

	ret = nocow_iter_new(&scan->iter);
	if (ret == 0 && scan->arguments->sort.key)
		ret = row_sort_new(&scan->rows, &scan->arguments->sort, sizeof(struct findings));
	return ret < 0 ? ret : scan->report.ops->open(&scan->report);
}

static int report_total(void *data)
{
	struct scan *scan = data;

	return scan->report.ops->total(&scan->report, &scan->total,
				       file_options_ask_for_several(&scan->arguments->files));
}

static int report_exercise(void *data)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;
	struct exercise exercise;

	if (!arguments->exercise.directory)
		return 0;
	if (exercise_run(&arguments->exercise, &scan->subvolume, arguments->global->sizes,
			 &exercise) < 0)
		scan->files.visit.status = STATUS_ERROR;
	else
		scan->report.ops->exercise(&scan->report, &exercise);
	return 0;
}

static void release(void *data)
{
	struct scan *scan = data;

	scan->report.ops->close(&scan->report);
	nocow_iter_free(scan->iter);
	row_sort_free(scan->rows);
}

static const struct file_report_ops report_ops = {
	.key = "nocow-check",
	.prepare = prepare,
	.file = report_file,
	.kept = report_rows,
	.total = report_total,
	.append = report_exercise,
	.release = release,
};

static const struct report_ops *reporter_of(const struct global_options *global)
{
	if (global->metrics)
		return &nocow_check_metrics;
	return global->json ? &nocow_check_json : &nocow_check_text;
}

static int run(const void *data)
{
	const struct arguments *arguments = data;
	struct scan scan = { .arguments = arguments };

	scan.report = (struct report){
		.ops = reporter_of(arguments->global),
		.files = &scan.files,
		.metrics = arguments->global->metrics,
		.sizes = arguments->global->sizes,
		.ranges = arguments->extents,
		.total_alone = arguments->summary,
		.verdicts = arguments->check.check,
		.no_hints = arguments->global->verbosity < 0,
	};
	return file_report_run(&scan.files, &arguments->files, &report_ops, &scan);
}

int nocow_check_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = {
		.global = global,
		.files.global = global,
		.sort.keys = sort_keys,
		.exercise = { .size = DEFAULT_SIZE, .seconds = DEFAULT_SECONDS },
	};

	return file_command_run(&argp, argc, argv, run, &arguments, &arguments.files);
}
