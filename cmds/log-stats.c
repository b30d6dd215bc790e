// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fs/commit-counters.h"
#include "fs/filesystem.h"
#include "fsync/fsync-exercise.h"
#include "fsync/fsync-folder.h"
#include "log-stats-disk.h"
#include "log-stats-judge.h"
#include "log-stats-plot.h"
#include "log-stats-causes.h"
#include "num/latency.h"
#include "num/trend.h"
#include "path/descriptor-place.h"
#include "path/new-file.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/interrupts.h"
#include "ui/counter-delta.h"
#include "ui/directory.h"
#include "ui/message.h"
#include "ui/plot.h"
#include "ui/plugin.h"
#include "ui/progress.h"
#include "ui/record.h"
#include "ui/standard-files.h"

#define DEFAULT_FILES 10000
#define DEFAULT_EVERY 100
/* of the other workloads */
#define DEFAULT_WRITES 1000
#define DEFAULT_SIZE 4096
#define WRITE_SIZE_MAX (64 << 20)
#define FILES_MAX 100000000
#define SECONDS_MAX 86400
/* The growth is reported per this many entries. */
#define GROWTH_STEP 1000

/* -- options -- */

struct log_options {
	struct global_options *global;
	const char *directory;
	int directory_count;
	/* what is not given is 0 */
	struct fsync_plan plan;
	bool watch;
	enum cause_kind by;
	const char *samples;
	const char *plot;
	bool check;
	/* --judge was given */
	bool judge;
	struct limits limits;
};

enum {
	OPTION_WORKLOAD = 0x2000,
	OPTION_FILES,
	OPTION_EVERY,
	OPTION_SIZE,
	OPTION_INTERVAL,
	OPTION_BY,
	OPTION_JSON_SAMPLES,
	OPTION_PLOT,
	OPTION_MAX_MS,
	OPTION_JUDGE,
	OPTION_WARNING,
	OPTION_CRITICAL,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to do:", 1 },
	{ "workload", OPTION_WORKLOAD, "WHAT", 0,
	  "directory (default), append, overwrite or rename", 1 },
	{ "files", OPTION_FILES, "N", 0, "Create N empty files (10000), or make N writes (1000)",
	  1 },
	{ "every", OPTION_EVERY, "N", 0, "Call fsync after every N files (100), or writes (1)", 1 },
	{ "size", OPTION_SIZE, "SIZE", 0, "Size of a write, or of a renamed file (4K)", 1 },
	{ "nocow", FLAG(struct log_options, plan.nocow), NULL, 0, "Files with data are NOCOW", 1 },
	{ "interval", OPTION_INTERVAL, "SECONDS", 0,
	  "Sleep after each fsync; interval of --watch (1)", 1 },
	{ "commit-between", FLAG(struct log_options, plan.commits_between), NULL, 0,
	  "Commit the transaction after each fsync", 1 },
	{ "watch", FLAG(struct log_options, watch), NULL, 0,
	  "Only report commits, until interrupted", 1 },
	{ "by", OPTION_BY, "WHAT", 0,
	  "With --watch: what causes fsyncs and commits, by process, directory or file", 1 },
	{ NULL, 0, NULL, 0, "What to report:", 2 },
	{ "json-samples", OPTION_JSON_SAMPLES, "FILE", 0,
	  "Also write JSON lines of all fsyncs to new FILE", 2 },
	{ "plot", OPTION_PLOT, "FILE", 0, "Also draw all fsyncs as SVG to new FILE (gnuplot)", 2 },
	{ "check", FLAG(struct log_options, check), NULL, 0,
	  "Status 64 if the fsyncs are above --max-ms", 2 },
	{ "max-ms", OPTION_MAX_MS, "MILLISECONDS", 0, "The limit for --check", 2 },
	{ "judge", OPTION_JUDGE, "FIGURE", 0, "p99 (default), p95, p90, median, mean or max", 2 },
	{ "warning", OPTION_WARNING, "RANGE", 0, "With nagios: WARNING outside RANGE, in ms", 2 },
	{ "critical", OPTION_CRITICAL, "RANGE", 0, "With nagios: CRITICAL outside RANGE, in ms",
	  2 },
	{ 0 },
};

/* A number of UNITs, which may have a fraction. */
static error_t parse_time(const char *option, const char *text, uint64_t most, uint64_t unit_ns,
			  uint64_t *ret_ns)
{
	char subject[64];
	double value;
	char *end;

	value = strtod(text, &end);
	/* It takes blanks, a sign, hexadecimal numbers and names of others, too. */
	if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.") != strlen(text) || *end ||
	    value * unit_ns < 1 || value > most) {
		snprintf(subject, sizeof(subject), "invalid value for %s:", option);
		error_value(subject, text, " (expected more than 0, up to %" PRIu64 ")", most);
		return EINVAL;
	}
	*ret_ns = value * unit_ns;
	return 0;
}

static error_t check_rules(const struct log_options *arguments)
{
	const struct fsync_plan *plan = &arguments->plan;
	const struct limits *limits = &arguments->limits;
	bool nagios = arguments->global->format == FORMAT_NAGIOS;
	bool has_ranges = limits->warning.text || limits->critical.text;
	bool has_data = plan->workload != FSYNC_DIRECTORY;
	bool has_exercise = has_data || plan->operations || plan->every || plan->size ||
			    plan->nocow || plan->commits_between || arguments->samples ||
			    arguments->plot;
	bool is_judged = arguments->check || arguments->judge || limits->max_ns || has_ranges;
	const struct option_rule rules[] = {
		{ arguments->by && !arguments->watch, "--by requires --watch" },
		{ arguments->watch && (arguments->global->metrics || nagios),
		  "--watch supports only text and JSON" },
		{ arguments->watch && (has_exercise || is_judged),
		  "--watch can only be combined with --interval and --by" },
		{ (plan->size || plan->nocow) && !has_data,
		  "--size and --nocow require another --workload than directory" },
		{ plan->every && plan->workload == FSYNC_RENAME,
		  "--every cannot be combined with --workload rename" },
		{ arguments->check && !limits->max_ns, "--check requires --max-ms" },
		{ limits->max_ns && !arguments->check, "--max-ms requires --check" },
		{ arguments->check && nagios,
		  "--format nagios has --warning and --critical instead of --check" },
		{ has_ranges && !nagios, "--warning and --critical require --format nagios" },
		{ arguments->judge && !nagios && !arguments->check,
		  "--judge requires --check or --format nagios" },
		{ arguments->samples && strcmp(arguments->samples, "-") == 0,
		  "--json-samples requires a file, because the report goes to standard output" },
		{ 0 },
	};

	return check_option_rules(rules);
}

static error_t complete_plan(struct fsync_plan *plan)
{
	bool has_data = plan->workload != FSYNC_DIRECTORY;
	uint64_t every = has_data ? 1 : DEFAULT_EVERY;

	if (!plan->operations)
		plan->operations = has_data ? DEFAULT_WRITES : DEFAULT_FILES;
	if (!plan->every)
		plan->every = plan->operations < every ? plan->operations : every;
	if (has_data && !plan->size)
		plan->size = DEFAULT_SIZE;
	if (plan->every <= plan->operations)
		return 0;
	error("with --every %" PRIu64 " and --files %" PRIu64 " there is no fsync", plan->every,
	      plan->operations);
	return EINVAL;
}

static error_t parse_workload(const char *text, enum fsync_workload *ret_workload)
{
	for (enum fsync_workload workload = 0; workload < FSYNC_WORKLOADS; workload++)
		if (strcmp(text, fsync_workload_name(workload)) == 0) {
			*ret_workload = workload;
			return 0;
		}
	error_value("invalid value for --workload:", text,
		    " (expected directory, append, overwrite or rename)");
	return EINVAL;
}

static error_t parse_write_size(const char *text, uint64_t *ret_size)
{
	if (parse_size(text, ret_size) == 0 && *ret_size && *ret_size <= WRITE_SIZE_MAX)
		return 0;
	error_value("invalid value for --size:", text, " (expected 1 to 64M)");
	return EINVAL;
}

static error_t check_arguments(struct log_options *arguments, const struct argp_state *state)
{
	if (arguments->global->done)
		return 0;
	if (expect_one_argument(state, arguments->directory_count))
		return EINVAL;
	if (check_rules(arguments))
		return EINVAL;
	if (arguments->watch && !arguments->plan.pause_ns)
		arguments->plan.pause_ns = NANOSECONDS_PER_SECOND;
	return complete_plan(&arguments->plan);
}

static error_t parse_log_option(int key, char *text, struct argp_state *state)
{
	struct log_options *arguments = state->input;

	switch (key) {
	case OPTION_WORKLOAD:
		return parse_workload(text, &arguments->plan.workload);
	case OPTION_SIZE:
		return parse_write_size(text, &arguments->plan.size);
	case OPTION_FILES:
		return parse_count("--files", text, FILES_MAX, &arguments->plan.operations);
	case OPTION_EVERY:
		return parse_count("--every", text, FILES_MAX, &arguments->plan.every);
	case OPTION_INTERVAL:
		return parse_time("--interval", text, SECONDS_MAX, NANOSECONDS_PER_SECOND,
				  &arguments->plan.pause_ns);
	case OPTION_BY:
		return cause_kind_parse(text, &arguments->by);
	case OPTION_JSON_SAMPLES:
		arguments->samples = text;
		return 0;
	case OPTION_PLOT:
		arguments->plot = text;
		return 0;
	case OPTION_MAX_MS:
		return parse_time("--max-ms", text, SECONDS_MAX * UINT64_C(1000),
				  NANOSECONDS_PER_MILLISECOND, &arguments->limits.max_ns);
	case OPTION_JUDGE:
		arguments->judge = true;
		return limits_parse_judged(&arguments->limits, text);
	case OPTION_WARNING:
		return limits_parse_range("--warning", text, &arguments->limits.warning);
	case OPTION_CRITICAL:
		return limits_parse_range("--critical", text, &arguments->limits.critical);
	case ARGP_KEY_ARG:
		arguments->directory = text;
		arguments->directory_count++;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments, state);
	default:
		return options_set_flag(key, arguments);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_log_option,
	.children = global_argp_children,
	.args_doc = "DIR",
	.doc = "Show how long fsyncs of a growing directory on btrfs take, or of another workload, "
	       "and whether they wrote the log or committed the whole transaction.\vThe files are created in a new "
	       "folder in DIR, and removed at the end, also after Ctrl-C and errors. Requires "
	       "only write permission in DIR.",
};

/* -- the whole run -- */

struct fsync_run {
	const struct log_options *arguments;
	const char *path;
	const char *workload;
	/* of the workload */
	bool has_data;
	struct interrupts interrupts;
	int directory_fd;
	/* each fsync as it comes; without a stream where nobody asks for it */
	struct new_file samples;
	struct log_stats_plot plot;
	struct fsync_exercise exercise;
	struct disk_measure disk;
	struct counter_delta counter_delta;
	struct output out;
	/* the first error, which has been reported */
	int error;
	int status;
};

static void note_failure(struct fsync_run *run, int err)
{
	if (!run->error)
		run->error = err;
	run->status = STATUS_ERROR;
}

static void run_failed(struct fsync_run *run, const char *action, const char *path, int err)
{
	error_path(action, path, err);
	note_failure(run, err);
}

/* For messages. Returns NULL if there is no memory. */
static char *folder_path(const struct fsync_run *run, const struct fsync_folder *folder)
{
	const char *directory = run->path;
	size_t length = strlen(directory);
	char *path;

	if (asprintf(&path, "%s%s%s", directory, length && directory[length - 1] == '/' ? "" : "/",
		     folder->name) < 0)
		return NULL;
	return path;
}

static void folder_failed(struct fsync_run *run, const char *action,
			  const struct fsync_folder *folder, int err)
{
	CLEANUP_FREE char *path = folder_path(run, folder);

	run_failed(run, action, path ? path : folder->name, err);
}

/* Returns 0; or -1, and complains. */
static int find_directory(struct fsync_run *run)
{
	int fd = directory_open_to_write(run->path);

	if (fd < 0) {
		/* What it is not has no errno to be reported. */
		note_failure(run, fd == -ENOTTY ? 0 : fd);
		return -1;
	}
	run->directory_fd = fd;
	return 0;
}

/* -- removing -- */

static void finish_removal(struct fsync_run *run, const struct fsync_folder *folder, int ret)
{
	struct descriptor_place place;

	if (ret == -ENOTEMPTY) {
		folder_failed(run, "unknown files remain in", folder, 0);
	} else if (ret < 0) {
		folder_failed(run, "cannot remove", folder, ret);
		/* It may have been moved. */
		if (descriptor_place_of(folder->fd, &place) == 0)
			leftover_error("it", &place);
	}
}

static int remove_files(struct fsync_folder *folder)
{
	uint64_t removed = 0;
	int ret;

	while ((ret = fsync_folder_remove_next(folder)) > 0) {
		removed++;
		if (progress_due())
			progress_show("removing: %" PRIu64 " of %" PRIu64 " files", removed,
				      folder->file_count);
	}
	return ret;
}

static void clear_folder(struct fsync_run *run, struct fsync_folder *folder)
{
	int ret = remove_files(folder);

	/* What a commit gives back can be missing for a removal, as to a full quota. */
	if ((ret == -EDQUOT || ret == -ENOSPC) && filesystem_commit(folder->fd) == 0)
		ret = remove_files(folder);
	finish_removal(run, folder, ret);
}

static int remove_left(void *data, struct fsync_folder *folder, enum fsync_folder_finding finding)
{
	static const char *const warnings[] = {
		[FSYNC_FOLDER_LEFT] = "removing the folder of a killed run:",
		[FSYNC_FOLDER_DOUBTFUL] = "not removed, because it may not be from a killed run:",
		[FSYNC_FOLDER_IN_USE] = "not removed, because another run is using it:",
	};
	struct fsync_run *run = data;
	CLEANUP_FREE char *path = folder_path(run, folder);
	uint64_t removed = 0;
	int ret;

	warning_path(warnings[finding], path ? path : folder->name, 0);
	if (finding != FSYNC_FOLDER_LEFT)
		return 0;
	while ((ret = fsync_folder_remove_next(folder)) > 0) {
		removed++;
		if (progress_due())
			progress_show("removing the folder of a killed run: %" PRIu64 " files",
				      removed);
		/* The next run goes on. */
		if (interrupts_pending(&run->interrupts))
			return -EINTR;
	}
	finish_removal(run, folder, ret);
	return 0;
}

static void remove_all_left(struct fsync_run *run)
{
	int ret = fsync_folder_each_left(run->directory_fd, remove_left, run);

	/* Where it is not readable, nobody can see what is left. */
	if (ret < 0 && ret != -EACCES && ret != -EINTR)
		run_failed(run, "cannot read", run->path, ret);
}

/* -- measuring -- */

struct sample_row {
	uint64_t entries;
	uint64_t ns;
	const char *kind;
};

#define SAMPLE(member) offsetof(struct sample_row, member)

static const struct field sample_fields[] = {
	{ SAMPLE(entries), FIELD_NUMBER, .key = "entries",
	  .help = "The number of files that there were." },
	{ SAMPLE(ns), FIELD_TIME, .key = "ns", .help = "How long it took." },
	{ SAMPLE(kind), FIELD_TEXT, .key = "kind", .help = "What it did." },
	{ 0 },
};

static void print_sample(struct new_file *samples, const struct fsync_sample *sample)
{
	struct output out = { .json = { .stream = samples->stream, .style = JSON_LINES } };
	const struct sample_row row = {
		.entries = sample->operations,
		.ns = sample->duration_ns,
		.kind = fsync_kind_name(sample->kind),
	};

	record_object(&out, NULL, sample_fields, &row);
	if (fputc('\n', samples->stream) == EOF && !out.json.error)
		out.json.error = -errno;
	if (!samples->error)
		samples->error = out.json.error;
}

static void keep_sample(struct fsync_run *run, const struct fsync_sample *sample)
{
	log_stats_plot_add(&run->plot, sample->kind, sample->operations, sample->duration_ns);
	if (run->samples.stream)
		print_sample(&run->samples, sample);
}

static void show_exercise(const struct fsync_exercise *exercise)
{
	uint64_t done = exercise->done, total = exercise->plan.operations;
	uint64_t left;

	if (!progress_due())
		return;
	left = (monotonic_ns() - exercise->started_at) / NANOSECONDS_PER_SECOND * (total - done) /
	       (done ? done : 1);
	progress_show("%" PRIu64 " of %" PRIu64 " %s, %" PRIu64 " fsyncs, %" PRIu64 ":%02" PRIu64
		      ":%02" PRIu64 " left",
		      done, total, fsync_workload_operations(exercise->plan.workload),
		      exercise->latency.count, left / 3600, left / 60 % 60, left % 60);
}

static void step_failed(struct fsync_run *run, int err)
{
	static const char *const actions[] = {
		[FSYNC_STEP_EXAMINE] = "cannot examine",
		[FSYNC_STEP_CREATE] = "cannot create a file in",
		[FSYNC_STEP_WRITE] = "cannot write to a file in",
		[FSYNC_STEP_RENAME] = "cannot rename a file in",
		[FSYNC_STEP_SYNC] = "cannot fsync",
		[FSYNC_STEP_COMMIT] = "cannot commit the file system of",
	};

	folder_failed(run, actions[run->exercise.step], &run->exercise.folder, err);
}

static void fill_folder(struct fsync_run *run)
{
	struct fsync_exercise *exercise = &run->exercise;
	struct fsync_sample sample;
	int ret = 0;

	while (ret >= 0 && !fsync_exercise_is_done(exercise) &&
	       !interrupts_pending(&run->interrupts)) {
		ret = fsync_exercise_next(exercise, &sample);
		if (ret > 0) {
			keep_sample(run, &sample);
			disk_measure_next(&run->disk, exercise);
			ret = fsync_exercise_pause(exercise, &run->interrupts);
		}
		if (ret < 0)
			step_failed(run, ret);
		show_exercise(exercise);
	}
}

/* Some monitoring programs take output on standard error for a failure. */
static void announce_files(const struct fsync_run *run)
{
	CLEANUP_FREE char *path = folder_path(run, &run->exercise.folder);
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);
	const struct fsync_plan *plan = &run->exercise.plan;

	if (run->out.format == FORMAT_NAGIOS)
		return;
	if (plan->workload == FSYNC_DIRECTORY)
		warning("creating %" PRIu64
			" temporary empty files in %s, with an fsync after every %" PRIu64,
			plan->operations, quoted, plan->every);
	else
		warning("writing %" PRIu64 " times to a temporary file in %s, with an fsync after "
			"every %" PRIu64,
			plan->operations, quoted, plan->every);
}

static void warn_of_unknown(const struct commit_counters *counters)
{
	if (!counters->generation_known)
		warning("the kernel does not report its generation (Linux 5.9 and later do): "
			"every fsync is counted as uncertain");
	else if (!counters->stats_known)
		warning("there is no commit_stats in sysfs (Linux 6.0 and later have it): "
			"full commits are counted as uncertain");
}

/* Returns 0 or a negative errno, and complains. */
static int begin_folder(struct fsync_run *run)
{
	struct fsync_folder left = { 0 };
	int ret;

	ret = fsync_folder_new(run->directory_fd, &run->exercise.folder, left.name);
	if (ret < 0)
		run_failed(run, "cannot create a folder in", run->path, ret);
	if (ret < 0 && *left.name)
		folder_failed(run, "the new folder may remain:", &left, 0);
	return ret;
}

static void exercise_folder(struct fsync_run *run)
{
	struct fsync_exercise *exercise = &run->exercise;
	int ret;

	if (begin_folder(run) < 0)
		return;
	announce_files(run);
	if (run->out.format != FORMAT_NAGIOS && !run->arguments->check)
		disk_measure_begin(&run->disk, exercise);
	ret = fsync_exercise_prepare(exercise, &run->interrupts);
	if (ret < 0) {
		step_failed(run, ret);
	} else if ((ret = fsync_exercise_begin(exercise)) < 0) {
		run_failed(run, "cannot examine", run->path, ret);
	} else {
		warn_of_unknown(&exercise->begin);
		counter_delta_begin(&run->counter_delta, exercise->folder.fd);
		fill_folder(run);
		counter_delta_end(&run->counter_delta);
		fsync_exercise_end(exercise);
	}
	disk_measure_end(&run->disk);
	fsync_exercise_free(exercise);
	clear_folder(run, &exercise->folder);
	fsync_folder_close(&exercise->folder);
}

/* -- the report -- */

static const struct metric fsync_metric = { "btrfs_fastpath_fsync_seconds", METRIC_HISTOGRAM,
					    "seconds", "How long the fsyncs of one run took." };
static const struct metric kinds_metric = {
	"btrfs_fastpath_fsyncs", METRIC_GAUGE, NULL,
	"Fsyncs of this run that wrote the log, or committed the whole transaction."
};

#define RUN(member) offsetof(struct fsync_run, member)

static const struct field plan_fields[] = {
	{ RUN(path), FIELD_PATH, .key = "path", .help = "The directory, as it was named." },
	{ RUN(workload), FIELD_TEXT, .key = "workload",
	  .help = "What was done before the fsyncs." },
	{ RUN(exercise.done), FIELD_NUMBER, .key = "files",
	  .help = "The number of files that were made, or of writes." },
	{ RUN(exercise.plan.every), FIELD_NUMBER, .key = "every",
	  .help = "The number of files, or of writes, from one fsync to the next." },
	{ RUN(exercise.plan.size), FIELD_SIZE, .key = "write_bytes", .known = RUN(has_data),
	  .help = "The bytes of a write, or of a renamed file; null with the workload directory." },
	{ RUN(exercise.latency.count), FIELD_NUMBER, .key = "fsyncs",
	  .help = "The number of fsyncs." },
	{ RUN(exercise.kinds[FSYNC_LOG].count), FIELD_NUMBER, .key = "log_commits",
	  .help = "The number of those that wrote the log." },
	{ RUN(exercise.kinds[FSYNC_FULL].count), FIELD_NUMBER, .key = "full_commits",
	  .help = "The number of those that committed the transaction." },
	{ RUN(exercise.kinds[FSYNC_UNCERTAIN].count), FIELD_NUMBER, .key = "uncertain",
	  .help = "The number of those that may be either." },
	{ RUN(exercise.plan.nocow), FIELD_BOOL, .key = "nocow",
	  .help = "Whether the files with data were NOCOW." },
	{ 0 },
};

static const struct field histogram_fields[] = {
	{ RUN(path), FIELD_PATH, .label.name = "path" },
	{ RUN(workload), FIELD_TEXT, .known = RUN(has_data), .label.name = "workload" },
	{ RUN(exercise.latency), FIELD_HISTOGRAM, .metric = &fsync_metric },
	{ 0 },
};

static void report_plan(struct fsync_run *run)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(run->path);
	const struct fsync_exercise *exercise = &run->exercise;
	char size[UNITS_TEXT_SIZE];

	record_members(&run->out, plan_fields, run);
	record_say(&run->out, "Directory: %s\n", quoted);
	if (run->has_data)
		record_say(&run->out, "Workload: %s, %s of %s%s\n", run->workload,
			   fsync_workload_operations(exercise->plan.workload),
			   format_size(size, exercise->plan.size, run->out.sizes),
			   exercise->plan.nocow ? ", NOCOW" : "");
	record_say(&run->out, "%s: %" PRIu64,
		   fsync_workload_makes_files(exercise->plan.workload) ? "Files" : "Writes",
		   exercise->done);
	if (!fsync_exercise_is_done(exercise))
		record_say(&run->out, " of %" PRIu64, exercise->plan.operations);
	record_say(&run->out, ", an fsync after every %" PRIu64 "\n", exercise->plan.every);
}

struct kind_row {
	const char *path;
	/* NULL: directory */
	const char *workload;
	const char *name;
	struct fsync_kind_sums sums;
	uint64_t mean_ns;
	bool has_fsyncs;
};

#define KIND(member) offsetof(struct kind_row, member)

static const struct field kind_fields[] = {
	{ KIND(path), FIELD_PATH, .label.name = "path" },
	{ KIND(workload), FIELD_TEXT, .label.name = "workload" },
	{ KIND(name), FIELD_TEXT, .title = "Commit", .label.name = "commit" },
	{ KIND(sums.count), FIELD_NUMBER, .key = "count", .title = "Fsyncs", .width = 10,
	  .metric = &kinds_metric, .help = "Their number." },
	{ KIND(sums.total_ns), FIELD_TIME, .title = "Total", .known = KIND(has_fsyncs) },
	{ KIND(mean_ns), FIELD_TIME, .title = "Mean", .known = KIND(has_fsyncs) },
	{ KIND(sums.max_ns), FIELD_TIME, .title = "Max", .known = KIND(has_fsyncs) },
	/* JSON has 0 without an fsync */
	{ KIND(sums.total_ns), FIELD_TIME, .key = "total_ns", .help = "The time that they took." },
	{ KIND(sums.max_ns), FIELD_TIME, .key = "max_ns", .help = "The slowest." },
	{ 0 },
};

static int report_kinds(struct fsync_run *run)
{
	struct output *out = &run->out;
	struct rows *rows = NULL;
	int ret = 0, ended;

	json_begin_object(&out->json, "commit_kinds");
	for (int kind = 0; kind < FSYNC_KINDS && ret == 0; kind++) {
		const struct fsync_kind_sums *sums = &run->exercise.kinds[kind];
		const struct kind_row row = {
			.path = run->path,
			.workload = run->has_data ? run->workload : NULL,
			.name = fsync_kind_name(kind),
			.sums = *sums,
			.mean_ns = sums->count ? sums->total_ns / sums->count : 0,
			.has_fsyncs = sums->count,
		};

		record_object(out, row.name, kind_fields, &row);
		record_samples(out, kind_fields, &row);
		ret = rows_begin_or_add(&rows, out, kind_fields, 0, &row);
	}
	json_end_object(&out->json);
	ended = rows_end(&rows);
	return ret < 0 ? ret : ended;
}

struct latency_row {
	struct latency_figures figures;
	uint64_t deviation;
	uint64_t p90;
	uint64_t p95;
	bool has_deviation;
	bool has_p90;
	bool has_p95;
	bool has_p99;
};

#define LATENCY(member) offsetof(struct latency_row, member)

static const struct field latency_fields[] = {
	{ LATENCY(figures.min), FIELD_TIME, .key = "min", .help = "The fastest." },
	{ LATENCY(figures.mean), FIELD_TIME, .key = "mean", .help = "The mean." },
	{ LATENCY(figures.p50), FIELD_TIME, .key = "median", .help = "The median." },
	{ LATENCY(deviation), FIELD_TIME, .key = "stddev", .known = LATENCY(has_deviation),
	  .help = "The standard deviation; null from fewer than two fsyncs." },
	{ LATENCY(p90), FIELD_TIME, .key = "p90", .known = LATENCY(has_p90),
	  .help = "The 90th percentile; null from fewer than 10 fsyncs." },
	{ LATENCY(p95), FIELD_TIME, .key = "p95", .known = LATENCY(has_p95),
	  .help = "The 95th percentile; null from fewer than 20 fsyncs." },
	{ LATENCY(figures.p99), FIELD_TIME, .key = "p99", .known = LATENCY(has_p99),
	  .help = "The 99th percentile; null from fewer than 100 fsyncs." },
	{ LATENCY(figures.max), FIELD_TIME, .key = "max", .help = "The slowest." },
	{ LATENCY(figures.total), FIELD_TIME, .key = "total", .help = "The sum." },
	{ 0 },
};

static struct latency_row latency_row_of(const struct fsync_exercise *exercise)
{
	const struct latency *latency = &exercise->latency;

	return (struct latency_row){
		.figures = latency_figures_of(latency),
		.deviation = trend_deviation(&exercise->trend),
		.p90 = latency_percentile(latency, 90),
		.p95 = latency_percentile(latency, 95),
		.has_deviation = latency->count > 1,
		.has_p90 = latency_has_percentile(latency->count, 90),
		.has_p95 = latency_has_percentile(latency->count, 95),
		.has_p99 = latency_has_percentile(latency->count, 99),
	};
}

static const char *format_known(char text[UNITS_TEXT_SIZE], bool known, uint64_t nanoseconds)
{
	return known ? format_time(text, nanoseconds) : "-";
}

static void report_latency(struct output *out, const struct fsync_exercise *exercise)
{
	const struct latency_row row = latency_row_of(exercise);
	const struct latency_figures *figures = &row.figures;
	char a[UNITS_TEXT_SIZE], b[UNITS_TEXT_SIZE], c[UNITS_TEXT_SIZE];
	char d[UNITS_TEXT_SIZE], e[UNITS_TEXT_SIZE];

	record_object(out, "latency_ns", latency_fields, figures->calls ? &row : NULL);
	record_say(out, "Range: %s - %s; Mean: %s; Median: %s; Stddev: %s\n",
		   format_time(a, figures->min), format_time(b, figures->max),
		   format_time(c, figures->mean), format_time(d, figures->p50),
		   format_known(e, row.has_deviation, row.deviation));
	record_say(out, "Percentiles: 90th: %s; 95th: %s; 99th: %s\n",
		   format_known(a, row.has_p90, row.p90), format_known(b, row.has_p95, row.p95),
		   format_known(c, row.has_p99, figures->p99));
}

struct growth_row {
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t step_files;
	/* per GROWTH_STEP */
	int64_t step_ns;
	bool is_clear;
};

#define GROWTH(member) offsetof(struct growth_row, member)

static const struct field growth_fields[] = {
	{ GROWTH(first_ns), FIELD_TIME, .key = "first_tenth_ns",
	  .help = "The mean of the first tenth of the fsyncs." },
	{ GROWTH(last_ns), FIELD_TIME, .key = "last_tenth_ns",
	  .help = "The mean of the last tenth." },
	{ GROWTH(step_files), FIELD_NUMBER, .key = "step_files",
	  .help = "The number of files for the next key." },
	{ GROWTH(step_ns), FIELD_SIGNED, .key = "step_ns", .known = GROWTH(is_clear),
	  .help = "The additional time of an fsync for so many more files, which can be negative; null without a clear growth." },
	{ 0 },
};

static void say_growth(const struct growth_row *row, const char *operations,
		       const struct output *out)
{
	char first[UNITS_TEXT_SIZE], last[UNITS_TEXT_SIZE], step[UNITS_TEXT_SIZE];
	int64_t step_ns = row->step_ns;

	record_say(out, "Growth: %s in the first tenth, %s in the last; ",
		   format_time(first, row->first_ns), format_time(last, row->last_ns));
	if (!row->is_clear)
		record_say(out, "no clear growth\n");
	else
		record_say(out, "%s%s per 1,000 %s\n", step_ns < 0 ? "-" : "+",
			   format_time(step, step_ns < 0 ? -(uint64_t)step_ns : (uint64_t)step_ns),
			   operations);
}

static void report_growth(struct output *out, const struct fsync_exercise *exercise)
{
	const struct trend *trend = &exercise->trend;
	const struct growth_row row = {
		.first_ns = trend_first_tenth(trend),
		.last_ns = trend_last_tenth(trend),
		.step_files = GROWTH_STEP,
		.step_ns = trend_slope(trend, GROWTH_STEP),
		.is_clear = trend_is_clear(trend),
	};
	bool is_known = trend->count >= TREND_CALLS_MIN;

	record_object(out, "growth", growth_fields, is_known ? &row : NULL);
	if (is_known)
		say_growth(&row, fsync_workload_operations(exercise->plan.workload), out);
	else
		record_say(out, "Growth: unknown with fewer than %d fsyncs\n", TREND_CALLS_MIN);
}

struct times_row {
	uint64_t elapsed_ns;
	struct commit_change commits;
};

#define TIMES(member) offsetof(struct times_row, member)

static const struct field times_fields[] = {
	{ TIMES(elapsed_ns), FIELD_TIME, .key = "elapsed_ns",
	  .help = "From the first file to the last fsync." },
	{ TIMES(commits.count), FIELD_NUMBER, .key = "commits", .known = TIMES(commits.known),
	  .help = "The number of commits of the file system in that time; null if the kernel does not report it." },
	{ TIMES(commits.total_ns), FIELD_TIME, .key = "commit_ns", .known = TIMES(commits.known),
	  .help = "The time that they took; null if the kernel does not report it." },
	{ 0 },
};

/* The commits are those of the whole file system. */
static void report_times(struct output *out, const struct fsync_exercise *exercise)
{
	const struct times_row row = {
		.elapsed_ns = exercise->elapsed_ns,
		.commits = commit_counters_change(&exercise->begin, &exercise->end),
	};
	char total[UNITS_TEXT_SIZE], elapsed[UNITS_TEXT_SIZE], commit[UNITS_TEXT_SIZE];

	record_members(out, times_fields, &row);
	record_say(out, "Total: %s in fsync, of %s\n", format_time(total, exercise->latency.total),
		   format_time(elapsed, row.elapsed_ns));
	if (row.commits.known)
		record_say(out, "Commits: %" PRIu64 " in %s (whole file system)\n",
			   row.commits.count, format_time(commit, row.commits.total_ns));
}

struct end_row {
	bool is_complete;
	const char *error;
};

#define END(member) offsetof(struct end_row, member)

static const struct field end_fields[] = {
	{ END(is_complete), FIELD_BOOL, .key = "complete", .help = "Whether all files were made." },
	{ END(error), FIELD_TEXT, .key = "error", .optional = true,
	  .help = "The first error. The key exists only if there was one." },
	{ 0 },
};

/* Returns 0 or a negative errno. The JSON is complete in any case. */
static int report_figures(struct fsync_run *run)
{
	const struct fsync_exercise *exercise = &run->exercise;
	const struct end_row end = {
		.is_complete = fsync_exercise_is_done(exercise),
		.error = run->error ? strerror(-run->error) : NULL,
	};
	struct output *out = &run->out;
	int ret, histogram;

	json_begin_object(&out->json, "log-stats");
	report_plan(run);
	record_samples(out, histogram_fields, run);
	ret = report_kinds(run);
	report_latency(out, exercise);
	histogram = histogram_report(&exercise->latency, "Fsyncs", out);
	report_growth(out, exercise);
	report_times(out, exercise);
	disk_measure_report(&run->disk, exercise, out, run->path,
			    run->has_data ? run->workload : NULL);
	counter_delta_report(&run->counter_delta, out);
	limits_report(&run->arguments->limits, &exercise->latency, out);
	record_members(out, end_fields, &end);
	json_end_object(&out->json);
	return ret < 0 ? ret : histogram;
}

/* -- the run -- */

/* Returns 0, or -1, and complains. */
static int prepare_samples(struct fsync_run *run)
{
	const char *path = run->arguments->samples;
	int ret;

	if (!path)
		return 0;
	ret = new_file_open(path, &run->samples);
	if (ret == 0)
		return 0;
	new_file_error("cannot create", path, ret);
	note_failure(run, ret == -EXDEV ? -EACCES : ret);
	return -1;
}

static void finish_samples(struct fsync_run *run)
{
	struct descriptor_place left;
	int ret;

	if (!run->samples.stream)
		return;
	ret = new_file_finish(&run->samples, &left);
	if (ret < 0)
		run_failed(run, "cannot write to", run->arguments->samples, ret);
	if (left.inode)
		leftover_error("the file", &left);
}

/* Returns 0, or -1, and complains. */
static int open_run_plot(struct fsync_run *run)
{
	int ret = plot_open(&run->plot.plot, run->arguments->plot);

	if (ret < 0)
		run->status = STATUS_ERROR;
	return ret;
}

/* What was measured before an error or a signal is no answer. */
static void report_to_monitoring(struct fsync_run *run)
{
	if (interrupts_pending(&run->interrupts))
		run->status = plugin_print_unknown("log-stats", "interrupted");
	else if (run->status == STATUS_OK && run->exercise.latency.count)
		run->status = limits_print_plugin(&run->arguments->limits, &run->exercise);
	else
		run->status = plugin_print_unknown("log-stats", "there was no fsync");
}

static bool has_report(const struct fsync_run *run, bool quiet)
{
	/* JSON always has its members. */
	if (run->out.json.stream)
		return true;
	if (run->out.format == FORMAT_TEXT && run->arguments->check && quiet)
		return false;
	return run->exercise.latency.count;
}

static void report_run(struct fsync_run *run)
{
	const struct log_options *arguments = run->arguments;
	const struct global_options *global = arguments->global;
	bool quiet = global->verbosity < 0;
	int ret;

	if (limits_check(&arguments->limits, &run->exercise.latency, quiet) &&
	    run->status == STATUS_OK)
		run->status = STATUS_CHECK_FAILED;
	run->out = output_begin(global);
	ret = has_report(run, quiet) ? report_figures(run) : 0;
	json_end(&run->out.json);
	if (ret < 0)
		run_failed(run, "cannot report on", run->path, ret);
	if (run->out.format == FORMAT_NAGIOS)
		report_to_monitoring(run);
}

static void run_exercise(struct fsync_run *run)
{
	if (find_directory(run) == 0 && prepare_samples(run) == 0 && open_run_plot(run) == 0) {
		progress_start(run->arguments->global->verbosity >= 0);
		remove_all_left(run);
		if (!interrupts_pending(&run->interrupts))
			exercise_folder(run);
		progress_clear();
	}
	finish_samples(run);
	report_run(run);
}

/* Returns the exit status. */
static int exercise_and_report(const struct log_options *arguments)
{
	CLEANUP_FREE struct fsync_run *run = calloc(1, sizeof(*run));
	int signal;

	if (!run) {
		error("out of memory");
		return STATUS_ERROR;
	}
	run->arguments = arguments;
	run->path = arguments->directory;
	run->workload = fsync_workload_name(arguments->plan.workload);
	run->has_data = arguments->plan.workload != FSYNC_DIRECTORY;
	run->exercise.plan = arguments->plan;
	run->out = output_of(arguments->global);
	run->directory_fd = -1;

	interrupts_hold(&run->interrupts);
	run_exercise(run);
	close_fd(&run->directory_fd);
	if (standard_output_flush_held(&run->interrupts) < 0)
		run->status = run->out.format == FORMAT_NAGIOS ? STATUS_PLUGIN_UNKNOWN :
								 STATUS_ERROR;
	/* There is nothing left to clean up: another signal ends a gnuplot that hangs, too. */
	signal = interrupts_pending(&run->interrupts);
	interrupts_forget(&run->interrupts);
	interrupts_release(&run->interrupts);
	if (log_stats_plot_finish(&run->plot, run->path, run->exercise.plan.workload) < 0)
		run->status = STATUS_ERROR;
	if (signal)
		raise(signal);
	return run->status;
}

/* -- the command -- */

int log_stats_run(int argc, char **argv, struct global_options *global)
{
	struct log_options arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return options_ask_for_format(argc, argv, global, FORMAT_NAGIOS) ?
			       plugin_print_unknown("log-stats", "invalid arguments") :
			       STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (arguments.watch)
		return log_stats_watch(arguments.directory, arguments.plan.pause_ns, arguments.by,
				       global);
	return exercise_and_report(&arguments);
}
