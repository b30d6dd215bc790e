// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/descriptor-limit.h"
#include "base/name-escape.h"
#include "commands.h"
#include "fs/inode-flags.h"
#include "nocow-check-exercise.h"
#include "nocow-check-file.h"
#include "nocow/nocow.h"
#include "ui/file-options.h"
#include "ui/file-visit.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/table.h"

#define RANGES_PER_PROGRESS 4096

#define DEFAULT_SIZE (256ULL << 20)
#define DEFAULT_SECONDS 10
#define MOST_SECONDS 86400
/* Every reason, or every flag, with commas between. */
#define NAMES_TEXT_SIZE 256

/* -- options -- */

struct arguments {
	struct global_options *global;
	struct file_options files;
	bool extents;
	bool summary;
	bool check;
	bool sync;
	/* --exercise: without a directory there is none */
	struct exercise_plan exercise;
	/* one of its options was given */
	bool exercise_options;
};

enum {
	OPTION_CHECK = 0x2000,
	OPTION_SYNC,
	OPTION_EXERCISE,
	OPTION_SECONDS,
	OPTION_ENGINE,
	OPTION_SCRATCH,
	OPTION_SIZE,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "extents", 'e', NULL, 0, "A row per range: what becomes of the next write, and why", 1 },
	{ "summary", 's', NULL, 0, "The sums of all files alone, a row per reason", 1 },
	{ "check", OPTION_CHECK, NULL, 0,
	  "Exit with 64 if a NOCOW file would be copied anywhere or has checksums (root)", 1 },
	{ "sync", OPTION_SYNC, NULL, 0, "Write each file's data back before looking at it", 1 },
	{ NULL, 0, NULL, 0, "Random direct writes, and proof where they went:", 2 },
	{ "exercise", OPTION_EXERCISE, "DIR", 0, "Write to a scratch file without a name in DIR",
	  2 },
	{ "scratch", OPTION_SCRATCH, "prealloc|nocow", 0,
	  "Preallocated, each block written once (the default), or NOCOW", 2 },
	{ "size", OPTION_SIZE, "SIZE", 0, "Of the scratch file (256M)", 2 },
	{ "seconds", OPTION_SECONDS, "N", 0, "For how long (10)", 2 },
	{ "engine", OPTION_ENGINE, "fio|builtin", 0, "What writes (fio, if it is installed)", 2 },
	{ 0 },
};

static error_t parse_engine(struct arguments *arguments, const char *text)
{
	if (strcmp(text, "fio") == 0)
		arguments->exercise.engine = ENGINE_FIO;
	else if (strcmp(text, "builtin") == 0)
		arguments->exercise.engine = ENGINE_BUILTIN;
	else {
		error_value("--engine knows fio and builtin, not", text, "%s", "");
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
		error_value("--scratch knows prealloc and nocow, not", text, "%s", "");
		return EINVAL;
	}
	return 0;
}

static error_t parse_scratch_size(struct arguments *arguments, const char *text)
{
	uint64_t size;

	if (parse_size(text, &size) < 0 || !size || size % SCRATCH_BLOCK ||
	    size > EXERCISE_LARGEST) {
		error_value("invalid size", text, ": a multiple of 64K up to 8G expected");
		return EINVAL;
	}
	arguments->exercise.size = size;
	return 0;
}

static error_t parse_exercise_option(struct arguments *arguments, int key, const char *text)
{
	switch (key) {
	case OPTION_SECONDS:
		return parse_count("seconds", text, MOST_SECONDS, &arguments->exercise.seconds);
	case OPTION_ENGINE:
		return parse_engine(arguments, text);
	case OPTION_SCRATCH:
		return parse_scratch(arguments, text);
	default:
		return parse_scratch_size(arguments, text);
	}
}

static error_t check_arguments(const struct arguments *arguments)
{
	if (arguments->global->done)
		return 0;
	if (arguments->summary && arguments->extents) {
		error("--summary leaves no room for --extents");
		return EINVAL;
	}
	if (arguments->exercise_options && !arguments->exercise.directory) {
		error("--scratch, --size, --seconds and --engine are for --exercise, which is not given");
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
		arguments->check = true;
		return 0;
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
		state->child_inputs[0] = &arguments->files;
		state->child_inputs[1] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = file_argp_children,
	.args_doc = "PATH...",
	.doc = "Tell of each range of a file on btrfs whether the next write goes in place or is "
	       "copied, and why.\vWithout options: a row per file, and a total. Without root the "
	       "answer is partly unknown, and says so.",
};

/* -- the whole run -- */

struct scan {
	const struct arguments *arguments;
	struct file_visit visit;
	struct nocow_iter *iter;
	struct known_subvolume subvolume;
	uint64_t file_count;
	struct nocow_sums total;
	struct json_writer json;
	/* a row per file; not with --extents or --summary */
	struct table *rows;
};

/* A file's findings. */
struct findings {
	const struct opened_file *opened;
	struct nocow_file file;
	bool read_only;
	struct nocow_sums sums;
};

static bool is_complete(const struct findings *findings)
{
	return findings->file.searchable && !findings->sums.counts[NOCOW_REASON_UNKNOWN];
}

/* -- text -- */

static const char *const fate_names[] = {
	[NOCOW_IN_PLACE] = "in place",
	[NOCOW_COPIED] = "copied",
	[NOCOW_NEW] = "new",
	[NOCOW_UNKNOWN] = "unknown",
};

static const char *const checksums_names[] = {
	[NOCOW_CHECKSUMS_NOT_ASKED] = "-",
	[NOCOW_CHECKSUMS_NONE] = "no",
	[NOCOW_CHECKSUMS_EXIST] = "yes",
};

static const struct table_column range_columns[] = {
	{ "Offset", 12, false },    { "Bytenr", 14, false }, { "Length", 10, false },
	{ "Next write", 10, true }, { "Why", 10, true },     { "Checksums", 0, true },
};

static const struct table_column file_columns[] = {
	{ "In place", 10, false }, { "Copied", 10, false },    { "New", 10, false },
	{ "Unknown", 10, false },  { "Checksums", 10, false }, { "Why", 20, true },
	{ "Path", 0, true },
};

static const struct table_column reason_columns[] = {
	{ "Next write", 10, true },
	{ "Why", 10, true },
	{ "Ranges", 8, false },
	{ "Bytes", 10, false },
};

static void append_name(char text[NAMES_TEXT_SIZE], const char *name)
{
	size_t length = strlen(text);

	snprintf(text + length, NAMES_TEXT_SIZE - length, "%s%s", length ? "," : "", name);
}

static const char *format_flags(char text[NAMES_TEXT_SIZE], uint32_t flags)
{
	const char *name;
	char number[16];

	text[0] = '\0';
	while ((name = inode_flags_take_name(&flags)))
		append_name(text, name);
	if (flags) {
		snprintf(number, sizeof(number), "0x%" PRIx32, flags);
		append_name(text, number);
	}
	return *text ? text : "-";
}

static const char *format_reasons(char text[NAMES_TEXT_SIZE], const struct nocow_sums *sums)
{
	text[0] = '\0';
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (sums->counts[i])
			append_name(text, nocow_reason_name(i));
	return *text ? text : "-";
}

static int print_range(struct table *table, const struct nocow_range *range,
		       struct size_format format)
{
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	/* A rounded address would be of no use. */
	ret |= table_number_cell(table, range->offset);
	ret |= table_number_cell(table, range->bytenr);
	ret |= table_size_cell(table, range->length, format);
	ret |= table_cell(table, fate_names[nocow_reason_fate(range->reason)]);
	ret |= table_cell(table, nocow_reason_name(range->reason));
	ret |= table_cell(table, checksums_names[range->checksums]);
	return ret ? -ENOMEM : 0;
}

static int print_sums(struct table *table, const struct nocow_sums *sums, const char *path,
		      struct size_format format)
{
	char why[NAMES_TEXT_SIZE];
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	for (int fate = NOCOW_IN_PLACE; fate <= NOCOW_UNKNOWN; fate++)
		ret |= table_size_cell(table, nocow_sums_bytes_of(sums, fate), format);
	if (sums->csum_asked_bytes)
		ret |= table_size_cell(table, sums->csum_bytes, format);
	else
		ret |= table_cell(table, "-");
	ret |= table_cell(table, format_reasons(why, sums));
	ret |= table_cell(table, path);
	return ret ? -ENOMEM : 0;
}

static int print_reason(struct table *table, const struct nocow_sums *sums,
			enum nocow_reason reason, struct size_format format)
{
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_cell(table, fate_names[nocow_reason_fate(reason)]);
	ret |= table_cell(table, nocow_reason_name(reason));
	ret |= table_number_cell(table, sums->counts[reason]);
	ret |= table_size_cell(table, sums->bytes[reason], format);
	return ret ? -ENOMEM : 0;
}

static int print_reasons(const struct nocow_sums *sums, struct size_format format)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, reason_columns);
	for (int i = 0; ret == 0 && i < NOCOW_REASON_COUNT; i++)
		if (sums->counts[i])
			ret = print_reason(table, sums, i, format);
	return ret;
}

/* -- JSON -- */

static void json_flags(struct json_writer *json, uint32_t flags)
{
	const char *name;
	char text[16];

	json_begin_array(json, "inode_flags");
	while ((name = inode_flags_take_name(&flags)))
		json_add_string(json, NULL, name);
	if (flags) {
		snprintf(text, sizeof(text), "0x%" PRIx32, flags);
		json_add_string(json, NULL, text);
	}
	json_end_array(json);
}

static void json_range(struct json_writer *json, const struct nocow_range *range)
{
	enum nocow_fate fate = nocow_reason_fate(range->reason);

	json_begin_object(json, NULL);
	json_add_uint(json, "offset", range->offset);
	json_add_uint(json, "length", range->length);
	json_add_uint(json, "bytenr", range->bytenr);
	if (fate == NOCOW_UNKNOWN)
		json_add_null(json, "nocow");
	else
		json_add_bool(json, "nocow", fate == NOCOW_IN_PLACE);
	json_add_string(json, "reason", nocow_reason_name(range->reason));
	if (range->checksums == NOCOW_CHECKSUMS_NOT_ASKED)
		json_add_null(json, "has_csums");
	else
		json_add_bool(json, "has_csums", range->checksums == NOCOW_CHECKSUMS_EXIST);
	json_end_object(json);
}

static void json_sums(struct json_writer *json, const struct nocow_sums *sums)
{
	uint64_t range_count = 0;

	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		range_count += sums->counts[i];
	json_add_uint(json, "range_count", range_count);
	json_add_uint(json, "nocow_bytes", nocow_sums_bytes_of(sums, NOCOW_IN_PLACE));
	json_add_uint(json, "cow_bytes", nocow_sums_bytes_of(sums, NOCOW_COPIED));
	json_add_uint(json, "hole_bytes", sums->bytes[NOCOW_REASON_HOLE]);
	json_add_uint(json, "inline_bytes", sums->bytes[NOCOW_REASON_INLINE]);
	json_add_uint(json, "direct_only_bytes", sums->bytes[NOCOW_REASON_DIRECT_ONLY]);
	json_add_uint(json, "delalloc_bytes", sums->bytes[NOCOW_REASON_DELALLOC]);
	json_add_uint(json, "unknown_bytes", sums->bytes[NOCOW_REASON_UNKNOWN]);
	json_add_known_uint(json, "csum_bytes", sums->csum_asked_bytes, sums->csum_bytes);

	json_begin_object(json, "reason_bytes");
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		if (sums->counts[i])
			json_add_uint(json, nocow_reason_name(i), sums->bytes[i]);
	json_end_object(json);
}

/* -- one file -- */

static int prepare_file(struct scan *scan, struct findings *findings)
{
	const struct opened_file *opened = findings->opened;

	/* So the kernel says of a mount and of a subvolume alike. */
	findings->read_only = faccessat(opened->fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
			      errno == EROFS;
	return nocow_check_look_at_file(&scan->subvolume, opened->fd, &opened->status,
					scan->arguments->global, &findings->file);
}

static int report_range(struct scan *scan, struct findings *findings, struct table *table,
			const struct nocow_range *range)
{
	const struct arguments *arguments = scan->arguments;

	nocow_sums_add_range(&findings->sums, range);
	if (!arguments->extents)
		return 0;
	if (arguments->global->json) {
		json_range(&scan->json, range);
		return 0;
	}
	return print_range(table, range, arguments->global->sizes);
}

static int report_ranges(struct scan *scan, struct findings *findings, struct table *table)
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
		ret = report_range(scan, findings, table, &range);
		if (ret < 0)
			return ret;
		if (++count % RANGES_PER_PROGRESS == 0 && progress_due())
			progress_show("%" PRIu64 " files, then %" PRIu64 " ranges",
				      scan->file_count, count);
	}
	return ret;
}

static int report_file_as_json(struct scan *scan, struct findings *findings)
{
	const struct arguments *arguments = scan->arguments;
	struct json_writer *json = &scan->json;
	int ret;

	json_begin_object(json, NULL);
	json_add_name(json, "path", findings->opened->path);
	json_flags(json, findings->file.inode_flags);
	if (arguments->extents)
		json_begin_array(json, "ranges");
	else
		json_add_null(json, "ranges");
	ret = report_ranges(scan, findings, NULL);
	if (arguments->extents)
		json_end_array(json);
	json_add_bool(json, "complete", ret == 0 && is_complete(findings));
	json_add_bool(json, "read_only", findings->read_only);
	json_sums(json, &findings->sums);
	if (ret < 0)
		json_add_string(json, "error", strerror(-ret));
	json_end_object(json);
	return ret;
}

static int report_file_as_rows(struct scan *scan, struct findings *findings)
{
	CLEANUP_FREE char *quoted = quote_name(findings->opened->path);
	CLEANUP(table_freep) struct table *table = NULL;
	char flags[NAMES_TEXT_SIZE];
	int ret;

	printf("%sFile: %s\n", scan->file_count ? "\n" : "", quoted ? quoted : "?");
	printf("Flags: %s\n", format_flags(flags, findings->file.inode_flags));
	if (findings->read_only)
		printf("Read-only: no write gets here before that is changed\n");
	ret = TABLE_NEW(&table, range_columns);
	return ret < 0 ? ret : report_ranges(scan, findings, table);
}

static int report_file_as_text(struct scan *scan, struct findings *findings)
{
	const struct arguments *arguments = scan->arguments;
	CLEANUP(table_freep) struct table *table = NULL;
	const char *path = findings->opened->path;
	int ret;

	if (!arguments->extents) {
		ret = report_ranges(scan, findings, NULL);
		if (ret < 0 || arguments->summary)
			return ret;
		return print_sums(scan->rows, &findings->sums, path, arguments->global->sizes);
	}
	ret = report_file_as_rows(scan, findings);
	if (ret == 0)
		ret = TABLE_NEW(&table, file_columns);
	return ret < 0 ? ret : print_sums(table, &findings->sums, path, arguments->global->sizes);
}

/* -- --check -- */

/* Only what is known. */
static void complain_of_copies(const struct scan *scan, const struct findings *findings)
{
	const struct nocow_sums *sums = &findings->sums;
	uint64_t unknown_bytes = nocow_sums_bytes_of(sums, NOCOW_UNKNOWN);
	struct size_format format = scan->arguments->global->sizes;
	CLEANUP_FREE char *quoted = quote_name(findings->opened->path);
	char checksums[UNITS_TEXT_SIZE + sizeof(", and  have checksums")] = "";
	char unknown[UNITS_TEXT_SIZE + sizeof(" ( unknown)")] = "";
	char size[UNITS_TEXT_SIZE];

	if (sums->csum_asked_bytes)
		snprintf(checksums, sizeof(checksums), ", and %s have checksums",
			 format_size(size, sums->csum_bytes, format));
	if (unknown_bytes)
		snprintf(unknown, sizeof(unknown), " (%s unknown)",
			 format_size(size, unknown_bytes, format));
	warning("NOCOW file: %s of it would be copied%s%s: %s",
		format_size(size, nocow_sums_bytes_of(sums, NOCOW_COPIED), format), checksums,
		unknown, quoted ? quoted : "?");
}

/* Only of a NOCOW file anything is expected. What has no extent yet cannot be copied. */
static void check_file(struct scan *scan, const struct findings *findings)
{
	int *status = &scan->visit.status;

	if (!(findings->file.inode_flags & INODE_NODATACOW))
		return;
	if (nocow_sums_bytes_of(&findings->sums, NOCOW_COPIED) || findings->sums.csum_bytes) {
		if (scan->arguments->global->verbosity >= 0)
			complain_of_copies(scan, findings);
		if (*status == STATUS_OK)
			*status = STATUS_CHECK_FAILED;
	} else if (!is_complete(findings)) {
		error_path(findings->file.searchable ? "changed while it was checked:" :
						       "cannot check without CAP_SYS_ADMIN (root):",
			   findings->opened->path, 0);
		*status = STATUS_ERROR;
	}
}

static struct failure report_file(void *data, const struct opened_file *opened)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;
	struct findings findings = { .opened = opened };
	int ret;

	ret = prepare_file(scan, &findings);
	if (ret == 0 && arguments->global->json && !arguments->summary)
		ret = report_file_as_json(scan, &findings);
	else if (ret == 0)
		ret = report_file_as_text(scan, &findings);
	if (ret < 0)
		return (struct failure){ "cannot examine", ret };

	nocow_sums_add(&scan->total, &findings.sums);
	scan->file_count++;
	if (arguments->check)
		check_file(scan, &findings);
	return NO_FAILURE;
}

/* -- the command -- */

static void report_exercise(struct scan *scan)
{
	const struct arguments *arguments = scan->arguments;
	struct exercise exercise;

	if (exercise_run(&arguments->exercise, &scan->subvolume, arguments->global, &exercise) <
	    0) {
		scan->visit.status = STATUS_ERROR;
		return;
	}
	if (arguments->global->json) {
		exercise_json(&exercise, &scan->json);
		return;
	}
	if (scan->file_count)
		putchar('\n');
	exercise_print(&exercise, arguments->global->sizes);
}

static int report_total(struct scan *scan)
{
	const struct arguments *arguments = scan->arguments;
	struct json_writer *json = &scan->json;
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	if (arguments->global->json) {
		json_begin_object(json, "total");
		json_add_uint(json, "file_count", scan->file_count);
		json_add_uint(json, "vanished_count", scan->visit.vanished_count);
		json_sums(json, &scan->total);
		json_end_object(json);
		return 0;
	}
	if (arguments->summary)
		return print_reasons(&scan->total, arguments->global->sizes);
	if (scan->file_count <= 1 || !file_options_ask_for_several(&arguments->files))
		return 0;
	if (!arguments->extents)
		return print_sums(scan->rows, &scan->total, "total", arguments->global->sizes);
	putchar('\n');
	ret = TABLE_NEW(&table, file_columns);
	return ret < 0 ? ret : print_sums(table, &scan->total, "total", arguments->global->sizes);
}

static int scan_paths(struct scan *scan)
{
	CLEANUP(descriptor_limit_restore) struct descriptor_limit limit = descriptor_limit_raise();
	CLEANUP(file_walk_freep) struct file_walk *walk = NULL;
	int ret;

	/* --exercise needs none. */
	if (!file_options_ask_for_any(&scan->arguments->files))
		return 0;
	ret = file_options_walk(&scan->arguments->files, &walk);
	return ret < 0 ? ret : file_visit_each(&scan->visit, walk, report_file, scan);
}

static int scan_init(struct scan *scan, const struct arguments *arguments)
{
	int ret;

	*scan = (struct scan){ .arguments = arguments };
	ret = file_visit_init(&scan->visit, file_options_can_overlap(&arguments->files));
	if (ret == 0)
		ret = nocow_iter_new(&scan->iter);
	if (ret == 0 && !arguments->global->json && !arguments->extents && !arguments->summary)
		ret = TABLE_NEW(&scan->rows, file_columns);
	if (ret < 0 || !arguments->global->json)
		return ret;
	json_begin(&scan->json, stdout);
	json_begin_array(&scan->json, "nocow-check");
	return 0;
}

static void scan_free(struct scan *scan)
{
	table_free(scan->rows);
	nocow_iter_free(scan->iter);
	file_visit_free(&scan->visit);
}

static int run(const void *data)
{
	const struct arguments *arguments = data;
	struct scan scan;
	int ret;

	ret = scan_init(&scan, arguments);
	if (ret < 0)
		goto out;

	progress_start(arguments->global->verbosity >= 0);
	ret = scan_paths(&scan);
	if (arguments->global->json) {
		json_end_array(&scan.json);
		report_total(&scan);
	} else if (ret == 0) {
		ret = report_total(&scan);
	}
	progress_clear();
	if (ret == 0 && arguments->exercise.directory)
		report_exercise(&scan);
	if (arguments->global->json)
		json_end(&scan.json);
	file_visit_warn_of_vanished(&scan.visit, arguments->global);

out:
	file_options_complain(&arguments->files, ret);
	scan_free(&scan);
	return ret < 0 ? STATUS_ERROR : scan.visit.status;
}

int nocow_check_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = {
		.global = global,
		.files.global = global,
		.exercise = { .size = DEFAULT_SIZE, .seconds = DEFAULT_SECONDS },
	};

	return file_command_run(&argp, argc, argv, run, &arguments, &arguments.files);
}
