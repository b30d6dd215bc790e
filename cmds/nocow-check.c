// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fs/file-look.h"
#include "fs/subvolume.h"
#include "nocow-check-exercise.h"
#include "nocow-check-file.h"
#include "nocow-check-report.h"
#include "nocow-check-verdict.h"
#include "nocow/nocow.h"
#include "num/record-sort.h"
#include "sys/cleanup.h"
#include "ui/files.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/row-sort.h"

#define RANGES_PER_PROGRESS 4096
/* at a file whose extents are moved meanwhile */
#define LOOKS_MAX 5
/* For its ranges. */
#define KEPT_MEMORY (1 << 20)

#define DEFAULT_SIZE (256ULL << 20)
#define DEFAULT_SECONDS 10
#define SECONDS_MAX 86400

/* -- options -- */

struct nocow_options {
	struct global_options *global;
	struct file_options files;
	struct sort_options sort;
	struct check_options check;
	bool extents;
	bool summary;
	bool sync;
	bool swap;
	/* --exercise: without a directory there is none */
	struct exercise_plan exercise;
	/* one of its options was given */
	bool exercise_options;
};

enum {
	OPTION_EXPECT_NOCOW = 0x2000,
	OPTION_MAX_COPIED,
	OPTION_IGNORE_REASON,
	OPTION_EXERCISE,
	OPTION_SECONDS,
	OPTION_ENGINE,
	OPTION_SCRATCH,
	OPTION_SIZE,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "extents", 'e', NULL, 0, "Print a row for each range of the file", 1 },
	{ "summary", 's', NULL, 0, "Print only sums, a row for each reason", 1 },
	{ "summarize", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "check", FLAG(struct nocow_options, check.check), NULL, 0,
	  "Status 64 if any NOCOW file would be copied", 1 },
	{ "expect-nocow", OPTION_EXPECT_NOCOW, "always|directory", OPTION_ARG_OPTIONAL,
	  "With --check, also alarm at files without NOCOW", 1 },
	{ "max-copied", OPTION_MAX_COPIED, "LIMIT", 0, "With --check, allow this much: 20% or 64M",
	  1 },
	{ "ignore-reason", OPTION_IGNORE_REASON, "REASONS", 0,
	  "With --check, ignore these, comma-separated", 1 },
	{ "sync", FLAG(struct nocow_options, sync), NULL, 0,
	  "Write back the data of each file first", 1 },
	{ "swap", FLAG(struct nocow_options, swap), NULL, 0,
	  "Whether swapon takes the file; status 64 if not", 1 },
	{ NULL, 0, NULL, 0, "Proof by random direct writes:", 2 },
	{ "exercise", OPTION_EXERCISE, "DIR", 0, "Write to an unnamed scratch file in DIR", 2 },
	{ "scratch", OPTION_SCRATCH, "prealloc|nocow", 0, "The kind of scratch file (prealloc)",
	  2 },
	{ "size", OPTION_SIZE, "SIZE", 0, "The size of the scratch file (256M)", 2 },
	{ "seconds", OPTION_SECONDS, "N", 0, "Write for N seconds (10)", 2 },
	{ "engine", OPTION_ENGINE, "fio|builtin", 0,
	  "The program that writes (fio if it is installed)", 2 },
	{ 0 },
};

static error_t parse_engine(struct nocow_options *arguments, const char *text)
{
	static const char *const words[] = { "fio", "builtin", NULL };
	int word = parse_word("--engine", text, words);

	arguments->exercise.engine = ENGINE_FIO + word;
	return word < 0 ? EINVAL : 0;
}

static error_t parse_scratch(struct nocow_options *arguments, const char *text)
{
	static const char *const words[] = { "prealloc", "nocow", NULL };
	int word = parse_word("--scratch", text, words);

	arguments->exercise.scratch = SCRATCH_PREALLOC + word;
	return word < 0 ? EINVAL : 0;
}

static error_t parse_scratch_size(struct nocow_options *arguments, const char *text)
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

static error_t parse_exercise_option(struct nocow_options *arguments, int key, const char *text)
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

static bool asks_about_files(const struct nocow_options *arguments)
{
	const struct file_options *files = &arguments->files;

	return arguments->check.check || arguments->sort.key || arguments->extents ||
	       arguments->sync || arguments->swap || files->recursive || files->one_file_system ||
	       files->range.offset || files->range.length != WHOLE_FILE.length;
}

static error_t check_nocow_options(struct nocow_options *arguments)
{
	const struct nocow_options *a = arguments;
	bool metrics = a->global->metrics, summary = a->summary || metrics;
	bool check = a->check.check || a->global->format == FORMAT_NAGIOS;
	const struct option_rule rules[] = {
		{ metrics && (a->extents || a->exercise.directory),
		  "metrics are the sums of all files: no --extents, no --exercise" },
		{ summary && a->extents, "--summary cannot be combined with --extents" },
		{ a->swap && (summary || a->extents || a->sort.key || check),
		  "--swap cannot be combined with --summary, --extents, --sort, --top, --check or metrics" },
		{ a->sort.key && (summary || a->extents),
		  "--sort and --top cannot be combined with --summary or --extents" },
		{ a->check.is_refined && !check,
		  "--expect-nocow, --max-copied and --ignore-reason require --check" },
		{ a->exercise_options && !a->exercise.directory,
		  "--scratch, --size, --seconds and --engine require --exercise" },
		{ !file_options_ask_for_any(&a->files) && (check || asks_about_files(a)),
		  "with --exercise, --check, --extents, --sync, --sort, --top, --range, -r and -x need a PATH" },
		{ 0 },
	};

	arguments->summary = summary;
	arguments->check.check = check;
	return a->global->done ? 0 : check_option_rules(rules);
}

static error_t parse_nocow_option(int key, char *text, struct argp_state *state)
{
	struct nocow_options *arguments = state->input;

	switch (key) {
	case 'e':
		arguments->extents = true;
		return 0;
	case 's':
		arguments->summary = true;
		return 0;
	case OPTION_EXPECT_NOCOW:
		return check_parse_expect(&arguments->check, text);
	case OPTION_MAX_COPIED:
		return check_parse_max_copied(&arguments->check, text);
	case OPTION_IGNORE_REASON:
		return check_parse_ignored(&arguments->check, text);
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
		return check_nocow_options(arguments);
	default:
		return options_set_flag(key, arguments);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_nocow_option,
	.children = sorted_file_argp_children,
	.args_doc = "PATH...",
	.doc = "Show whether the next write to a file on btrfs goes in place or is copied, and "
	       "why.\vWithout root, a part of the answers is unknown.",
};

/* -- the whole run -- */

struct nocow_scan {
	const struct nocow_options *arguments;
	struct files files;
	struct nocow_report report;
	struct nocow_iter *iter;
	/* of the file whose report was begun, and not ended, or NULL */
	struct findings *current;
	struct known_subvolume subvolume;
	struct inode_set *swap_files;
	/* with --swap, of the file system of CHUNKS_DEVICE */
	struct chunk_list *chunks;
	dev_t chunks_device;
	struct nocow_sums total;
	/* how many files have one, and the last one */
	uint64_t tree_error_count;
	int tree_error;
	/* with --sort or --top; the rows are struct findings */
	struct row_sort *rows;
};

/* -- one file -- */

static int look_at_file(struct nocow_scan *scan, const struct opened_file *opened,
			struct findings *findings)
{
	int ret;

	/* So the kernel says of a mount and of a subvolume alike. */
	findings->read_only = faccessat(opened->fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) < 0 &&
			      errno == EROFS;
	ret = nocow_check_look_at_file(&scan->subvolume, opened->fd, &opened->status,
				       &findings->file);
	if (ret < 0)
		return ret;
	return write_block_of(opened->fd, &opened->status, findings->file.inode_flags,
			      findings->read_only, scan->swap_files, &findings->block);
}

/* -- the ranges of a file, until the look at them is known to be right -- */

static int compare_ranges(const void *a, const void *b)
{
	const struct nocow_range *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool merge_ranges(void *record, const void *next)
{
	return compare_ranges(record, next) == 0;
}

static const struct record_sort_ops kept_ops = {
	.record_size = sizeof(struct nocow_range),
	.compare = compare_ranges,
	.merge = merge_ranges,
};

/* KEPT is NULL unless the ranges are reported. */
static int go_over_ranges(struct nocow_scan *scan, struct findings *findings,
			  struct record_sort *kept)
{
	const struct nocow_options *arguments = scan->arguments;
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
		if (kept)
			record_sort_add(kept, &range);
		if (++count % RANGES_PER_PROGRESS == 0 && progress_due())
			progress_show("%" PRIu64 " files, then %" PRIu64 " ranges",
				      scan->files.file_count, count);
	}
	return ret;
}

/* A relocation counts as a snapshot, too: data that is older is copied. */
static int refresh(struct nocow_scan *scan, struct findings *findings)
{
	struct nocow_file *file = &findings->file;
	int ret = subvolume_last_snapshot(file->fd, file->subvolid, &file->last_snapshot);

	if (ret == 0 && scan->subvolume.subvolid == file->subvolid)
		scan->subvolume.last_snapshot = file->last_snapshot;
	return ret;
}

/* Returns 1 if the answers are right, 0 if extents may have been moved, or a negative errno. */
static int look_at_ranges_once(struct nocow_scan *scan, struct file_look *look,
			       struct findings *findings, bool is_again, struct record_sort *kept)
{
	struct relocation_watch *watch = findings->file.searchable ? look->watch : NULL;
	struct relocation_mark mark = { 0 };
	bool held;
	int ret;

	ret = relocation_watch_begin(watch, &mark);
	findings->file.may_have_copies = watch;
	if (ret == 0 && findings->file.searchable && (watch || is_again))
		ret = refresh(scan, findings);
	if (ret == 0)
		ret = go_over_ranges(scan, findings, kept);
	if (ret < 0)
		return ret;
	held = relocation_watch_holds(watch, &mark);
	if (!file_look_may_have_moved(look))
		return 1;
	if (nocow_iter_doubtful_count(scan->iter))
		return 0;
	return !nocow_iter_has_searched(scan->iter) || (held && file_look_was_watched(look));
}

/* As look_at_ranges_once(), with the ranges in *RET_KEPT, also after an error. */
static int look_from_begin(struct nocow_scan *scan, struct findings *findings, bool is_again,
			   struct record_sort **ret_kept)
{
	CLEANUP(file_look_end) struct file_look look;
	int ret;

	ret = file_look_begin(&look, NULL, findings->file.fd);
	record_sort_free(*ret_kept);
	*ret_kept = NULL;
	if (ret == 0 && scan->arguments->extents)
		ret = record_sort_new(ret_kept, &kept_ops, KEPT_MEMORY);
	if (ret == 0)
		ret = look_at_ranges_once(scan, &look, findings, is_again, *ret_kept);
	if (ret == 0)
		file_look_await(&look);
	return ret;
}

/* What is left to say while extents are moved during each look. */
static int go_over_what_stays(struct nocow_scan *scan, const struct opened_file *opened,
			      struct findings *findings, struct record_sort **ret_kept)
{
	const char *path = opened_file_path(opened);
	int ret;

	findings->file.searchable = false;
	findings->file.may_have_copies = false;
	findings->file.is_moving = true;
	record_sort_free(*ret_kept);
	*ret_kept = NULL;
	ret = scan->arguments->extents ? record_sort_new(ret_kept, &kept_ops, KEPT_MEMORY) : 0;
	if (ret == 0 && !path)
		ret = -ENOMEM;
	if (ret < 0)
		return ret;
	warning_path("no figure for a part, because data is being moved:", path, 0);
	scan->files.status = STATUS_ERROR;
	return go_over_ranges(scan, findings, *ret_kept);
}

static int look_at_ranges(struct nocow_scan *scan, const struct opened_file *opened,
			  struct findings *findings, struct record_sort **ret_kept)
{
	const struct findings begin = *findings;

	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		int ret = look_from_begin(scan, findings, looks > 0, ret_kept);

		if (ret)
			return ret < 0 ? ret : 0;
		*findings = begin;
	}
	return go_over_what_stays(scan, opened, findings, ret_kept);
}

static int report_ranges(struct nocow_scan *scan, struct record_sort *kept)
{
	struct nocow_report *report = &scan->report;
	struct nocow_range range;
	int ret;

	if (!kept)
		return 0;
	ret = record_sort_finish(kept);
	while (ret == 0 && (ret = record_sort_next(kept, &range)) > 0)
		ret = nocow_report_range(report, &range);
	return ret;
}

/* Finds out all that is not known before. Returns 0 or a negative errno. */
static int examine(struct nocow_scan *scan, const struct opened_file *opened,
		   struct findings *findings)
{
	CLEANUP(record_sort_freep) struct record_sort *kept = NULL;
	int ret, reported;

	ret = look_at_ranges(scan, opened, findings, &kept);
	findings->tree_error = nocow_iter_tree_error(scan->iter);
	reported = report_ranges(scan, kept);
	findings->sums.extent_count = nocow_iter_extent_count(scan->iter);
	if (ret == 0)
		ret = reported;
	if (ret == 0)
		ret = verdict_reach(&scan->arguments->check, findings);
	findings->error = ret;
	return ret;
}

/* Reads the chunks once for files with the same device number in a row: they share a file system. */
static int read_chunks(struct nocow_scan *scan, const struct opened_file *opened,
		       const struct nocow_file *file)
{
	if (!file->searchable || (scan->chunks && scan->chunks_device == opened->status.st_dev))
		return 0;
	chunk_list_free(scan->chunks);
	scan->chunks = NULL;
	scan->chunks_device = opened->status.st_dev;
	return chunk_list_read(file->fd, &scan->chunks);
}

static int examine_as_swap(struct nocow_scan *scan, const struct opened_file *opened,
			   struct findings *findings)
{
	int ret;

	if (!scan->arguments->swap)
		return 0;
	ret = read_chunks(scan, opened, &findings->file);
	if (ret == 0)
		ret = swap_file_examine(&findings->file, findings->block, findings->read_only,
					findings->file.searchable ? scan->chunks : NULL, NULL,
					&findings->swap);
	findings->error = ret;
	return ret;
}

static int tell_of_file(struct nocow_scan *scan, const struct opened_file *opened,
			struct findings *findings)
{
	struct nocow_report *report = &scan->report;
	int ret, ended;

	ret = nocow_report_begin_file(report, findings);
	if (ret < 0)
		return ret;
	scan->current = findings;
	ret = examine(scan, opened, findings);
	if (ret == 0)
		ret = examine_as_swap(scan, opened, findings);
	scan->current = NULL;
	ended = nocow_report_end_file(report, findings);
	return ret < 0 ? ret : ended;
}

/* For --sort and --top. */
static int keep_file(struct nocow_scan *scan, const struct opened_file *opened,
		     struct findings *findings)
{
	const struct found_file *found = opened->found;
	struct path_node *path;
	int ret, kept;

	ret = examine(scan, opened, findings);
	path = path_node_new(&scan->files.paths, found->directory, found->name);
	if (!path)
		return -ENOMEM;
	kept = nocow_report_keep(scan->rows, path, findings);
	path_node_release(path);
	return ret < 0 ? ret : kept;
}

static int examine_and_report(struct nocow_scan *scan, const struct opened_file *opened,
			      struct findings *findings)
{
	if (scan->arguments->summary)
		return examine(scan, opened, findings);
	return scan->rows ? keep_file(scan, opened, findings) :
			    tell_of_file(scan, opened, findings);
}

/* It can be long, and the sums of all files need none. */
static int find_path(const struct nocow_scan *scan, const struct opened_file *opened,
		     const char **ret_path)
{
	if (scan->arguments->summary && !scan->arguments->check.check)
		return 0;
	*ret_path = opened_file_path(opened);
	return *ret_path ? 0 : -ENOMEM;
}

static int report_kept_findings(void *data, const char *path, void *row)
{
	struct nocow_scan *scan = data;
	struct nocow_report *report = &scan->report;
	struct findings *findings = row;
	int ret;

	findings->path = path;
	ret = nocow_report_begin_file(report, findings);
	return ret < 0 ? ret : nocow_report_end_file(report, findings);
}

static int report_all_kept(void *data)
{
	struct nocow_scan *scan = data;

	return scan->rows ? row_sort_report(scan->rows, report_kept_findings, scan) : 0;
}

static void set_status(struct nocow_scan *scan, enum check_verdict verdict)
{
	int *status = &scan->files.status;

	if (verdict_alarms(verdict))
		scan->arguments->global->finding =
			"writes to a NOCOW file are copied, or a file is not NOCOW";
	if (verdict == VERDICT_UNKNOWN)
		*status = STATUS_ERROR;
	else if (verdict_alarms(verdict) && *status == STATUS_OK)
		*status = STATUS_CHECK_FAILED;
}

/* Counts a file that was reported, and says what --check found. */
static void count_findings(struct nocow_scan *scan, const struct findings *findings)
{
	const struct nocow_options *arguments = scan->arguments;
	struct nocow_report *report = &scan->report;

	nocow_sums_add(&scan->total, &findings->sums);
	scan->files.file_count++;
	report->hints |= 1u << findings_hint(findings);
	if (findings->tree_error) {
		scan->tree_error_count++;
		scan->tree_error = findings->tree_error;
	}
	if (verdict_alarms(findings->verdict))
		report->alarm_count++;
	if (findings->verdict == VERDICT_UNKNOWN)
		report->unknown_count++;
	verdict_complain(&arguments->check, findings, arguments->global->sizes);
	set_status(scan, findings->verdict);
	if (arguments->swap && swap_is_usable(&findings->swap) == ANSWER_UNKNOWN)
		set_status(scan, VERDICT_UNKNOWN);
	else if (arguments->swap && swap_is_usable(&findings->swap) == ANSWER_NO)
		set_status(scan, VERDICT_COPIED);
}

static struct failure nocow_report_file(void *data, const struct opened_file *opened)
{
	struct nocow_scan *scan = data;
	struct findings findings = { 0 };
	int ret;

	ret = find_path(scan, opened, &findings.path);
	if (ret == 0)
		ret = look_at_file(scan, opened, &findings);
	if (ret == 0)
		ret = examine_and_report(scan, opened, &findings);
	if (ret < 0)
		return (struct failure){ "cannot examine", ret };
	count_findings(scan, &findings);
	return NO_FAILURE;
}

static int nocow_give_up(void *data)
{
	struct findings *findings = ((struct nocow_scan *)data)->current;
	struct nocow_scan *scan = data;
	int ret, ended = 0;

	scan->current = NULL;
	scan->iter = NULL;
	if (findings) {
		findings->error = -EBUSY;
		ended = nocow_report_end_file(&scan->report, findings);
	}
	ret = nocow_iter_new(&scan->iter);
	return ret < 0 ? ret : ended;
}

/* -- the command -- */

static int nocow_prepare(struct nocow_scan *scan)
{
	int ret;

	ret = nocow_iter_new(&scan->iter);
	if (ret == 0)
		ret = swap_files_read(&scan->swap_files);
	if (ret == 0 && scan->arguments->sort.key)
		ret = row_sort_new(&scan->rows, &scan->arguments->sort, sizeof(struct findings));
	return ret;
}

static void report_exercise(struct nocow_scan *scan)
{
	const struct nocow_options *arguments = scan->arguments;
	struct exercise exercise;

	if (!arguments->exercise.directory)
		return;
	if (exercise_run(&arguments->exercise, &scan->subvolume, arguments->global->sizes,
			 &exercise) < 0)
		scan->files.status = STATUS_ERROR;
	else
		exercise_report(&exercise, &scan->files.out, scan->files.file_count);
}

static void nocow_release(struct nocow_scan *scan)
{
	rows_end(&scan->report.summary);
	nocow_iter_free(scan->iter);
	nocow_check_forget_subvolume(&scan->subvolume);
	inode_set_free(scan->swap_files);
	chunk_list_free(scan->chunks);
	row_sort_free(scan->rows);
}

static const struct file_ops file_ops = { .report = nocow_report_file, .given_up = nocow_give_up };

/* Such as on a mount with rescue=. */
static void warn_of_trees(struct nocow_scan *scan)
{
	if (!scan->tree_error_count)
		return;
	scan->files.status = STATUS_ERROR;
	warning("no figure for a part of %" PRIu64 " %s, because the extent or checksum tree %s%s",
		scan->tree_error_count, scan->tree_error_count == 1 ? "file" : "files",
		scan->tree_error == -ENOENT ? "is missing" : "cannot be read: ",
		scan->tree_error == -ENOENT ? "" : strerror(-scan->tree_error));
}

/* What comes after the files. Returns as files_each(), which returned RET. */
static int nocow_finish(struct nocow_scan *scan, int ret)
{
	bool several = file_options_ask_for_several(&scan->arguments->files);
	int ended = report_all_kept(scan);

	if (ended > 0)
		scan->files.status = STATUS_ERROR;
	else if (ret == 0)
		ret = ended;
	files_end_results(&scan->files);
	ended = files_have_total(&scan->files, ret) ?
			nocow_report_total(&scan->report, &scan->total, several) :
			0;
	if (ret == 0)
		ret = ended;
	if (ret == 0)
		report_exercise(scan);
	warn_of_trees(scan);
	return ret;
}

int nocow_check_run(int argc, char **argv, struct global_options *global)
{
	struct nocow_options arguments = {
		.global = global,
		.files.global = global,
		.sort = { .fields = nocow_report_fields, .usual = "copied" },
		.exercise = { .size = DEFAULT_SIZE, .seconds = DEFAULT_SECONDS },
	};
	CLEANUP(nocow_release)
	struct nocow_scan scan = {
		.arguments = &arguments,
		.files.options = &arguments.files,
	};
	int ret, status;

	if (!file_options_parse(&argp, argc, argv, &arguments, &arguments.files, &status))
		return status;
	scan.report = (struct nocow_report){
		.files = &scan.files,
		.ranges = arguments.extents,
		.total_alone = arguments.summary,
		.verdicts = arguments.check.check,
		.swap = arguments.swap,
		.no_hints = global->verbosity < 0,
	};
	ret = nocow_prepare(&scan);
	if (ret == 0)
		ret = files_begin(&scan.files, "nocow-check");
	if (ret == 0) {
		ret = files_each(&scan.files, &file_ops, &scan);
		ret = nocow_finish(&scan, ret);
	}
	return files_end(&scan.files, ret);
}
