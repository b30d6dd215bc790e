// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptor-place.h"
#include "base/interrupts.h"
#include "base/latency.h"
#include "base/new-file.h"
#include "base/saturating-add.h"
#include "base/trend.h"
#include "commands.h"
#include "fs/commit-counters.h"
#include "fs/filesystem.h"
#include "fsync/fsync-folder.h"
#include "log-stats-judge.h"
#include "log-stats-metrics.h"
#include "log-stats-plot.h"
#include "log-stats-watch.h"
#include "ui/counter-delta.h"
#include "ui/directory.h"
#include "ui/histogram.h"
#include "ui/json.h"
#include "ui/leftover.h"
#include "ui/message.h"
#include "ui/new-file-error.h"
#include "ui/progress.h"
#include "ui/quoted-name.h"
#include "ui/standard-files.h"
#include "ui/table.h"

#define DEFAULT_FILES 10000
#define DEFAULT_EVERY 100
#define FILES_MAX 100000000
#define SECONDS_MAX 86400
/* The growth is told for as many entries. */
#define GROWTH_STEP 1000

/* -- options -- */

struct arguments {
	struct global_options *global;
	const char *directory;
	int directory_count;
	uint64_t files;
	/* 0: not said */
	uint64_t every;
	/* 0: not said */
	uint64_t interval_ns;
	bool commit_between;
	bool watch;
	const char *samples;
	const char *plot;
	bool check;
	/* --judge was given */
	bool judge;
	struct limits limits;
};

enum {
	OPTION_FILES = 0x2000,
	OPTION_EVERY,
	OPTION_INTERVAL,
	OPTION_COMMIT_BETWEEN,
	OPTION_WATCH,
	OPTION_JSON_SAMPLES,
	OPTION_PLOT,
	OPTION_CHECK,
	OPTION_MAX_MS,
	OPTION_JUDGE,
	OPTION_WARNING,
	OPTION_CRITICAL,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to do:", 1 },
	{ "files", OPTION_FILES, "N", 0, "Make this many empty files (10000)", 1 },
	{ "every", OPTION_EVERY, "N", 0, "Call fsync after every N files (100)", 1 },
	{ "interval", OPTION_INTERVAL, "SECONDS", 0,
	  "Sleep this long after each fsync; with --watch, between two rows (1)", 1 },
	{ "commit-between", OPTION_COMMIT_BETWEEN, NULL, 0,
	  "Commit after each fsync, so that the next one is the first of its transaction", 1 },
	{ "watch", OPTION_WATCH, NULL, 0,
	  "Only report the commits of the file system, until interrupted", 1 },
	{ NULL, 0, NULL, 0, "What to report:", 2 },
	{ "json-samples", OPTION_JSON_SAMPLES, "FILE", 0,
	  "Also write a line of JSON for each fsync to a new FILE", 2 },
	{ "plot", OPTION_PLOT, "FILE", 0,
	  "Also draw the time of each fsync, by gnuplot, into a new FILE in SVG", 2 },
	{ "check", OPTION_CHECK, NULL, 0,
	  "Exit with status 64 if the figure of --judge is above --max-ms", 2 },
	{ "max-ms", OPTION_MAX_MS, "MILLISECONDS", 0, "The limit for --check", 2 },
	{ "judge", OPTION_JUDGE, "FIGURE", 0,
	  "p99 (the default), p95, p90, median, mean or max of the fsyncs", 2 },
	{ "warning", OPTION_WARNING, "RANGE", 0,
	  "With --format nagios: warn if the figure, in milliseconds, is outside of RANGE", 2 },
	{ "critical", OPTION_CRITICAL, "RANGE", 0,
	  "With --format nagios: critical if the figure is outside of RANGE", 2 },
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

static error_t check_watch(const struct arguments *arguments)
{
	if (!arguments->watch)
		return 0;
	if (arguments->global->metrics || arguments->global->format == FORMAT_NAGIOS) {
		error("--watch prints text or JSON");
		return EINVAL;
	}
	if (arguments->check || arguments->judge || arguments->limits.has_warning ||
	    arguments->limits.has_critical || arguments->limits.max_ns || arguments->samples ||
	    arguments->plot || arguments->commit_between || arguments->every || arguments->files) {
		error("--watch can only be combined with --interval");
		return EINVAL;
	}
	return 0;
}

static error_t check_limits(const struct arguments *arguments)
{
	const struct limits *limits = &arguments->limits;
	bool nagios = arguments->global->format == FORMAT_NAGIOS;

	if (arguments->check != !!limits->max_ns) {
		error("--check and --max-ms need each other");
		return EINVAL;
	}
	if (nagios && arguments->check) {
		error("--format nagios has --warning and --critical instead of --check");
		return EINVAL;
	}
	if (!nagios && (limits->has_warning || limits->has_critical)) {
		error("--warning and --critical need --format nagios");
		return EINVAL;
	}
	if (arguments->judge && !nagios && !arguments->check) {
		error("--judge needs --check or --format nagios");
		return EINVAL;
	}
	return 0;
}

static error_t check_arguments(struct arguments *arguments, const struct argp_state *state)
{
	if (arguments->global->done)
		return 0;
	if (expect_one_argument(state, arguments->directory_count))
		return EINVAL;
	if (check_watch(arguments))
		return EINVAL;
	if (check_limits(arguments))
		return EINVAL;
	if (arguments->samples && strcmp(arguments->samples, "-") == 0) {
		error("--json-samples needs a file, because the report goes to standard output");
		return EINVAL;
	}

	if (arguments->watch && !arguments->interval_ns)
		arguments->interval_ns = NANOSECONDS_PER_SECOND;
	if (!arguments->files)
		arguments->files = DEFAULT_FILES;
	if (!arguments->every)
		arguments->every = arguments->files < DEFAULT_EVERY ? arguments->files :
								      DEFAULT_EVERY;
	if (arguments->every > arguments->files) {
		error("with --every %" PRIu64 " and --files %" PRIu64 " there is no fsync",
		      arguments->every, arguments->files);
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_FILES:
		return parse_count("--files", text, FILES_MAX, &arguments->files);
	case OPTION_EVERY:
		return parse_count("--every", text, FILES_MAX, &arguments->every);
	case OPTION_INTERVAL:
		return parse_time("--interval", text, SECONDS_MAX, NANOSECONDS_PER_SECOND,
				  &arguments->interval_ns);
	case OPTION_COMMIT_BETWEEN:
		arguments->commit_between = true;
		return 0;
	case OPTION_WATCH:
		arguments->watch = true;
		return 0;
	case OPTION_JSON_SAMPLES:
		arguments->samples = text;
		return 0;
	case OPTION_PLOT:
		arguments->plot = text;
		return 0;
	case OPTION_CHECK:
		arguments->check = true;
		return 0;
	case OPTION_MAX_MS:
		return parse_time("--max-ms", text, SECONDS_MAX * UINT64_C(1000),
				  NANOSECONDS_PER_MILLISECOND, &arguments->limits.max_ns);
	case OPTION_JUDGE:
		arguments->judge = true;
		return limits_parse_judged(&arguments->limits, text);
	case OPTION_WARNING:
		return limits_parse_warning(&arguments->limits, text);
	case OPTION_CRITICAL:
		return limits_parse_critical(&arguments->limits, text);
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
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "DIR",
	.doc = "Show how long fsyncs of a growing directory on btrfs take, and whether they "
	       "wrote the log or committed the whole transaction.\vThe files are made in a new "
	       "folder in DIR, and removed at the end, even after Ctrl-C and after errors. The "
	       "only permission needed is to write in DIR.",
};

/* -- the whole run -- */

/* The fsyncs of one kind. */
struct kind_sums {
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns;
};

struct run {
	const struct arguments *arguments;
	struct interrupts interrupts;
	int directory_fd;
	struct fsync_folder folder;
	/* each fsync as it comes; without a stream where nobody asks for it */
	struct new_file samples;
	struct log_stats_plot plot;
	struct latency latency;
	struct trend trend;
	struct kind_sums kinds[FSYNC_KINDS];
	struct generation_offset generation_offset;
	/* before the first file and after the last fsync */
	struct commit_counters begin;
	struct commit_counters end;
	struct counter_delta counter_delta;
	uint64_t started_at;
	uint64_t elapsed_ns;
	struct json_writer json;
	/* the first error, which has been reported */
	int error;
	int status;
};

static void note_failure(struct run *run, int err)
{
	if (!run->error)
		run->error = err;
	run->status = STATUS_ERROR;
}

static void failed(struct run *run, const char *action, const char *path, int err)
{
	error_path(action, path, err);
	note_failure(run, err);
}

/* For messages. Returns NULL if there is no memory. */
static char *folder_path(const struct run *run, const struct fsync_folder *folder)
{
	const char *directory = run->arguments->directory;
	size_t length = strlen(directory);
	char *path;

	if (asprintf(&path, "%s%s%s", directory, length && directory[length - 1] == '/' ? "" : "/",
		     folder->name) < 0)
		return NULL;
	return path;
}

static void folder_failed(struct run *run, const char *action, const struct fsync_folder *folder,
			  int err)
{
	CLEANUP_FREE char *path = folder_path(run, folder);

	failed(run, action, path ? path : folder->name, err);
}

/* Returns 0; or -1, and complains. */
static int find_directory(struct run *run)
{
	int fd = directory_open_to_write(run->arguments->directory);

	if (fd < 0) {
		/* What it is not has no errno to be reported. */
		note_failure(run, fd == -ENOTTY ? 0 : fd);
		return -1;
	}
	run->directory_fd = fd;
	return 0;
}

/* -- removing -- */

/* Where it was moved meanwhile, that is all that is known about it. */
static void removal_failed(struct run *run, const struct fsync_folder *folder, int err)
{
	CLEANUP_FREE char *path = folder_path(run, folder);
	struct descriptor_place place;

	failed(run, "cannot remove", path ? path : folder->name, err);
	if (descriptor_place_of(folder->fd, &place) == 0)
		complain_of_leftover("it", &place);
}

static void finish_removal(struct run *run, const struct fsync_folder *folder, int ret)
{
	if (ret == -ENOTEMPTY)
		folder_failed(run, "something that is not ours is left in", folder, 0);
	else if (ret < 0)
		removal_failed(run, folder, ret);
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

static void remove_folder(struct run *run, struct fsync_folder *folder)
{
	int ret = remove_files(folder);

	/* What a commit gives back can be missing for a removal, as to a full quota. */
	if ((ret == -EDQUOT || ret == -ENOSPC) && filesystem_commit(folder->fd) == 0)
		ret = remove_files(folder);
	finish_removal(run, folder, ret);
}

static void tell_of_left(const struct run *run, const struct fsync_folder *folder, const char *what)
{
	CLEANUP_FREE char *path = folder_path(run, folder);

	warning_path(what, path ? path : folder->name, 0);
}

static int remove_left(void *data, struct fsync_folder *folder, enum fsync_folder_finding finding)
{
	struct run *run = data;
	uint64_t removed = 0;
	int ret;

	if (finding == FSYNC_FOLDER_IN_USE) {
		tell_of_left(run, folder,
			     "left alone, since a run that has not ended yet uses it:");
		return 0;
	}
	if (finding == FSYNC_FOLDER_DOUBTFUL) {
		tell_of_left(run, folder,
			     "left alone, since it is not certain "
			     "that a run that was killed made it:");
		return 0;
	}
	tell_of_left(run, folder, "removing what a run that was killed has left:");
	while ((ret = fsync_folder_remove_next(folder)) > 0) {
		removed++;
		if (progress_due())
			progress_show("removing what was left behind: %" PRIu64 " files", removed);
		/* The next run goes on. */
		if (interrupts_pending(&run->interrupts))
			return -EINTR;
	}
	finish_removal(run, folder, ret);
	return 0;
}

static void remove_all_left(struct run *run)
{
	int ret = fsync_folder_each_left(run->directory_fd, remove_left, run);

	/* Where it is not readable, nobody can see what is left. */
	if (ret < 0 && ret != -EACCES && ret != -EINTR)
		failed(run, "cannot read", run->arguments->directory, ret);
}

/* -- measuring -- */

static void write_sample(struct run *run, uint64_t nanoseconds, enum fsync_kind kind)
{
	if (!run->samples.stream)
		return;
	new_file_print(&run->samples,
		       "{\"entries\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"kind\": \"%s\"}\n",
		       run->folder.file_count, nanoseconds, fsync_kind_name(kind));
}

static void record(struct run *run, uint64_t nanoseconds, enum fsync_kind kind)
{
	struct kind_sums *sums = &run->kinds[kind];

	latency_record(&run->latency, nanoseconds);
	trend_record(&run->trend, run->folder.file_count, nanoseconds);
	sums->count++;
	sums->total_ns = saturating_add(sums->total_ns, nanoseconds);
	if (nanoseconds > sums->max_ns)
		sums->max_ns = nanoseconds;
	write_sample(run, nanoseconds, kind);
	log_stats_plot_add(&run->plot, kind, run->folder.file_count, nanoseconds);
}

/* Returns 0 or a negative errno, and complains. */
static int add_file(struct run *run)
{
	int ret = fsync_folder_add(&run->folder);

	if (ret < 0)
		folder_failed(run, "cannot create a file in", &run->folder, ret);
	return ret;
}

/* Makes sure that a transaction is running, and says which. COUNTERS were read before that. */
static int touch(struct run *run, struct commit_counters *counters)
{
	int ret;

	counters->generation_known = false;
	ret = fsync_folder_touch(&run->folder);
	if (ret == 0)
		ret = commit_counters_read_generation(run->folder.fd, counters);
	generation_offset_learn(&run->generation_offset, counters);
	return ret;
}

/* What happens between the last file and the fsync must take no time. */
static int sync_folder(struct run *run, struct fsync_evidence *evidence)
{
	int fd = run->folder.fd;
	int ret;

	ret = commit_counters_read_generation(fd, &evidence->before);
	if (ret == 0)
		ret = fsync_folder_sync(&run->folder, &evidence->duration_ns);
	if (ret == 0)
		ret = commit_counters_read(NULL, fd, &evidence->after);
	if (ret < 0)
		folder_failed(run, "cannot fsync", &run->folder, ret);
	return ret;
}

/* One more file, and the fsync. Returns 0 or a negative errno, and complains. */
static int measure(struct run *run)
{
	struct fsync_evidence evidence = { 0 };
	int ret;

	ret = commit_counters_read(NULL, run->folder.fd, &evidence.before);
	if (ret < 0) {
		folder_failed(run, "cannot examine", &run->folder, ret);
		return ret;
	}
	ret = add_file(run);
	if (ret == 0)
		ret = sync_folder(run, &evidence);
	if (ret < 0)
		return ret;

	generation_offset_learn(&run->generation_offset, &evidence.before);
	evidence.later = evidence.after;
	/* If that fails, its reason is found at the next file, too. */
	touch(run, &evidence.later);
	record(run, evidence.duration_ns, fsync_kind_of(&evidence, &run->generation_offset));
	return 0;
}

/* Before the next files. Returns 0 or a negative errno, and complains. */
static int wait_for_next(struct run *run)
{
	const struct arguments *arguments = run->arguments;
	int ret = 0;

	if (run->folder.file_count + arguments->every > arguments->files)
		return 0;
	if (arguments->commit_between)
		ret = filesystem_commit(run->folder.fd);
	if (ret < 0)
		folder_failed(run, "cannot commit the file system of", &run->folder, ret);
	else if (arguments->interval_ns)
		interrupts_sleep(&run->interrupts, arguments->interval_ns);
	return ret;
}

static void show_measuring(const struct run *run)
{
	uint64_t done = run->folder.file_count, total = run->arguments->files;
	uint64_t left;

	if (!progress_due())
		return;
	left = (monotonic_ns() - run->started_at) / NANOSECONDS_PER_SECOND * (total - done) /
	       (done ? done : 1);
	progress_show("%" PRIu64 " of %" PRIu64 " files, %" PRIu64 " fsyncs, %" PRIu64 ":%02" PRIu64
		      ":%02" PRIu64 " left",
		      done, total, run->latency.count, left / 3600, left / 60 % 60, left % 60);
}

static void fill_folder(struct run *run)
{
	const struct arguments *arguments = run->arguments;
	const uint64_t *file_count = &run->folder.file_count;
	int ret = 0;

	while (ret == 0 && *file_count < arguments->files &&
	       !interrupts_pending(&run->interrupts)) {
		if ((*file_count + 1) % arguments->every == 0) {
			ret = measure(run);
			if (ret == 0)
				ret = wait_for_next(run);
		} else {
			ret = add_file(run);
		}
		show_measuring(run);
	}
}

/* Some monitoring programs take what comes on standard error for a failure. */
static void announce(const struct run *run)
{
	const struct arguments *arguments = run->arguments;
	CLEANUP_FREE char *path = folder_path(run, &run->folder);
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);

	if (arguments->global->format == FORMAT_NAGIOS)
		return;
	warning("making %" PRIu64
		" temporary empty files in %s, with an fsync after every %" PRIu64,
		arguments->files, quoted, arguments->every);
}

static void warn_of_unknown(const struct run *run)
{
	if (!run->begin.generation_known)
		warning("the kernel does not report its generation (Linux 5.9 and later do): "
			"every fsync is counted as uncertain");
	else if (!run->begin.stats_known)
		warning("there is no commit_stats in sysfs (Linux 6.0 and later have it): "
			"full commits are counted as uncertain");
}

/* Returns 0 or a negative errno, and complains. */
static int make_folder(struct run *run)
{
	struct fsync_folder left = { 0 };
	int ret;

	ret = fsync_folder_new(run->directory_fd, &run->folder, left.name);
	if (ret < 0)
		failed(run, "cannot make a folder in", run->arguments->directory, ret);
	if (ret < 0 && *left.name)
		folder_failed(run, "what was made may be left behind:", &left, 0);
	return ret;
}

static void exercise(struct run *run)
{
	const char *path = run->arguments->directory;
	int ret;

	if (make_folder(run) < 0)
		return;
	announce(run);
	ret = commit_counters_read(NULL, run->folder.fd, &run->begin);
	if (ret < 0) {
		failed(run, "cannot examine", path, ret);
	} else {
		warn_of_unknown(run);
		touch(run, &run->begin);
		run->started_at = monotonic_ns();
		counter_delta_begin(&run->counter_delta, run->folder.fd);
		fill_folder(run);
		counter_delta_end(&run->counter_delta);
		run->elapsed_ns = monotonic_ns() - run->started_at;
		commit_counters_read(NULL, run->folder.fd, &run->end);
	}
	remove_folder(run, &run->folder);
	fsync_folder_close(&run->folder);
}

/* -- text -- */

static const struct table_column kind_columns[] = {
	{ "Commit", 10, true }, { "Fsyncs", 10, false }, { "Total", 9, false },
	{ "Mean", 9, false },	{ "Max", 9, false },
};

static void print_kind(struct table *table, const struct kind_sums *sums, enum fsync_kind kind)
{
	char text[UNITS_TEXT_SIZE];

	table_begin_row(table);
	table_cell(table, fsync_kind_name(kind));
	table_number_cell(table, sums->count);
	table_cell(table, sums->count ? format_time(text, sums->total_ns) : "-");
	table_cell(table, sums->count ? format_time(text, sums->total_ns / sums->count) : "-");
	table_cell(table, sums->count ? format_time(text, sums->max_ns) : "-");
}

static int print_kinds(const struct run *run)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, kind_columns);
	if (ret < 0)
		return ret;
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		print_kind(table, &run->kinds[kind], kind);
	return table_finish(table);
}

static void print_figures(const struct run *run)
{
	const struct latency *latency = &run->latency;
	char a[UNITS_TEXT_SIZE], b[UNITS_TEXT_SIZE], c[UNITS_TEXT_SIZE];
	char d[UNITS_TEXT_SIZE], e[UNITS_TEXT_SIZE];

	printf("Range: %s - %s; Mean: %s; Median: %s; Stddev: %s\n", format_time(a, latency->min),
	       format_time(b, latency->max), format_time(c, latency->total / latency->count),
	       format_time(d, latency_percentile(latency, 50)),
	       format_time(e, trend_deviation(&run->trend)));
	printf("Percentiles: 90th: %s; 95th: %s; 99th: %s\n",
	       format_time(a, latency_percentile(latency, 90)),
	       format_time(b, latency_percentile(latency, 95)),
	       format_time(c, latency_percentile(latency, 99)));
}

/* A few slow fsyncs can make the tenths and the line through all of them contradict each other. */
static void print_growth(const struct run *run)
{
	uint64_t first_ns = trend_first_tenth(&run->trend), last_ns = trend_last_tenth(&run->trend);
	int64_t slope = trend_slope(&run->trend, GROWTH_STEP);
	char first[UNITS_TEXT_SIZE], last[UNITS_TEXT_SIZE], step[UNITS_TEXT_SIZE];

	printf("Growth: %s in the first tenth, %s in the last; ", format_time(first, first_ns),
	       format_time(last, last_ns));
	if ((slope > 0) == (last_ns > first_ns))
		printf("%s%s a %d files\n", slope < 0 ? "-" : "+",
		       format_time(step, slope < 0 ? -(uint64_t)slope : (uint64_t)slope),
		       GROWTH_STEP);
	else
		puts("no clear growth");
}

static uint64_t milliseconds(uint64_t count)
{
	return count * NANOSECONDS_PER_MILLISECOND;
}

/* What the whole file system did meanwhile. */
static void print_commits(const struct run *run)
{
	char text[UNITS_TEXT_SIZE];

	if (!run->begin.stats_known || !run->end.stats_known)
		return;
	printf("Commits: %" PRIu64 " of the file system, in %s\n",
	       run->end.commits - run->begin.commits,
	       format_time(text,
			   milliseconds(run->end.total_commit_ms - run->begin.total_commit_ms)));
}

static int print_report(const struct run *run)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(run->arguments->directory);
	char total[UNITS_TEXT_SIZE], elapsed[UNITS_TEXT_SIZE];
	int ret;

	if (!run->latency.count)
		return 0;
	printf("Directory: %s\n", quoted);
	printf("Files: %" PRIu64, run->folder.file_count);
	if (run->folder.file_count < run->arguments->files)
		printf(" of %" PRIu64, run->arguments->files);
	printf(", an fsync after every %" PRIu64 "\n", run->arguments->every);
	ret = print_kinds(run);
	if (ret < 0)
		return ret;
	print_figures(run);
	ret = histogram_print(&run->latency, "Fsyncs");
	if (ret < 0)
		return ret;
	print_growth(run);
	printf("Total: %s in fsync, of %s\n", format_time(total, run->latency.total),
	       format_time(elapsed, run->elapsed_ns));
	print_commits(run);
	counter_delta_report(&run->counter_delta, NULL);
	return 0;
}

/* -- JSON -- */

static void json_latency(struct json_writer *json, const struct run *run)
{
	const struct latency *latency = &run->latency;

	if (!latency->count) {
		json_add_null(json, "latency_ns");
		return;
	}
	json_begin_object(json, "latency_ns");
	json_add_uint(json, "min", latency->min);
	json_add_uint(json, "mean", latency->total / latency->count);
	json_add_uint(json, "median", latency_percentile(latency, 50));
	json_add_uint(json, "stddev", trend_deviation(&run->trend));
	json_add_uint(json, "p90", latency_percentile(latency, 90));
	json_add_uint(json, "p95", latency_percentile(latency, 95));
	json_add_uint(json, "p99", latency_percentile(latency, 99));
	json_add_uint(json, "max", latency->max);
	json_add_uint(json, "total", latency->total);
	json_end_object(json);
}

static void json_kinds(struct json_writer *json, const struct run *run)
{
	json_begin_object(json, "commit_kinds");
	for (int kind = 0; kind < FSYNC_KINDS; kind++) {
		const struct kind_sums *sums = &run->kinds[kind];

		json_begin_object(json, fsync_kind_name(kind));
		json_add_uint(json, "count", sums->count);
		json_add_uint(json, "total_ns", sums->total_ns);
		json_add_uint(json, "max_ns", sums->max_ns);
		json_end_object(json);
	}
	json_end_object(json);
}

static void json_growth(struct json_writer *json, const struct run *run)
{
	if (!run->trend.count) {
		json_add_null(json, "growth");
		return;
	}
	json_begin_object(json, "growth");
	json_add_uint(json, "first_tenth_ns", trend_first_tenth(&run->trend));
	json_add_uint(json, "last_tenth_ns", trend_last_tenth(&run->trend));
	json_add_uint(json, "step_files", GROWTH_STEP);
	json_add_int(json, "step_ns", trend_slope(&run->trend, GROWTH_STEP));
	json_end_object(json);
}

static void json_commits(struct json_writer *json, const struct run *run)
{
	bool known = run->begin.stats_known && run->end.stats_known;

	json_add_known_uint(json, "commits", known, run->end.commits - run->begin.commits);
	json_add_known_uint(json, "commit_ns", known,
			    milliseconds(run->end.total_commit_ms - run->begin.total_commit_ms));
}

static void json_report(struct json_writer *json, const struct run *run)
{
	json_begin_object(json, "log-stats");
	json_add_name(json, "path", run->arguments->directory);
	json_add_uint(json, "files", run->folder.file_count);
	json_add_uint(json, "every", run->arguments->every);
	json_add_uint(json, "fsyncs", run->latency.count);
	json_add_uint(json, "log_commits", run->kinds[FSYNC_LOG].count);
	json_add_uint(json, "full_commits", run->kinds[FSYNC_FULL].count);
	json_add_uint(json, "uncertain", run->kinds[FSYNC_UNCERTAIN].count);
	json_kinds(json, run);
	json_latency(json, run);
	histogram_json(&run->latency, json);
	json_growth(json, run);
	json_add_uint(json, "elapsed_ns", run->elapsed_ns);
	json_commits(json, run);
	counter_delta_report(&run->counter_delta, json);
	limits_json(&run->arguments->limits, &run->latency, json);
	json_add_bool(json, "complete", run->folder.file_count == run->arguments->files);
	if (run->error)
		json_add_string(json, "error", strerror(-run->error));
	json_end_object(json);
}

/* -- the run -- */

/* Returns 0, or -1, and complains. */
static int prepare_samples(struct run *run)
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

static void finish_samples(struct run *run)
{
	struct descriptor_place left;
	int ret;

	if (!run->samples.stream)
		return;
	ret = new_file_finish(&run->samples, &left);
	if (ret < 0)
		failed(run, "cannot write to", run->arguments->samples, ret);
	if (left.inode)
		complain_of_leftover("what was written", &left);
}

/* Returns 0, or -1, and complains. */
static int prepare_plot(struct run *run)
{
	int ret = plot_open(&run->plot.plot, run->arguments->plot);

	if (ret < 0)
		run->status = STATUS_ERROR;
	return ret;
}

static void finish_plot(struct run *run)
{
	if (log_stats_plot_finish(&run->plot, run->arguments->directory) < 0)
		run->status = STATUS_ERROR;
}

static bool is_quiet(const struct run *run)
{
	return run->arguments->global->verbosity < 0;
}

static void check_limit(struct run *run)
{
	if (limits_check(&run->arguments->limits, &run->latency, is_quiet(run)) &&
	    run->status == STATUS_OK)
		run->status = STATUS_CHECK_FAILED;
}

static void count_kinds(const struct run *run, uint64_t ret_counts[FSYNC_KINDS])
{
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		ret_counts[kind] = run->kinds[kind].count;
}

/* What was measured before an error is no answer. */
static void report_to_monitoring(struct run *run)
{
	struct plugin_figures figures = { .latency = &run->latency };

	count_kinds(run, figures.counts);
	if (run->status == STATUS_OK && run->latency.count)
		run->status = limits_print_plugin(&run->arguments->limits, &figures);
	else
		run->status = print_plugin_unknown("no fsync was made");
}

static void report_metrics(const struct run *run)
{
	uint64_t counts[FSYNC_KINDS];

	if (!run->latency.count)
		return;
	count_kinds(run, counts);
	log_stats_metrics(run->arguments->global->metrics, run->arguments->directory, &run->latency,
			  counts);
}

static void report(struct run *run)
{
	if (run->arguments->global->format == FORMAT_NAGIOS) {
		report_to_monitoring(run);
		return;
	}
	if (run->arguments->global->metrics) {
		report_metrics(run);
		return;
	}
	if (run->arguments->global->json) {
		json_begin(&run->json, stdout, run->arguments->global->json_style);
		json_report(&run->json, run);
		json_end(&run->json);
		return;
	}
	/* Whoever wants to hear nothing but the reason is told nothing else. */
	if (run->arguments->check && is_quiet(run))
		return;
	if (print_report(run) < 0)
		failed(run, "cannot report on", run->arguments->directory, -ENOMEM);
}

static void run_exercise(struct run *run)
{
	if (find_directory(run) == 0 && prepare_samples(run) == 0 && prepare_plot(run) == 0) {
		progress_start(run->arguments->global->verbosity >= 0);
		remove_all_left(run);
		if (!interrupts_pending(&run->interrupts))
			exercise(run);
		progress_clear();
	}
	finish_samples(run);
	check_limit(run);
	report(run);
}

/* A signal ends the wait for whoever should read, and is then all that is to be said. */
static void flush_output(struct run *run)
{
	int err;

	if (standard_output_flush(&err) == 0 || interrupts_pending(&run->interrupts))
		return;
	standard_output_complain(err);
	run->status = run->arguments->global->format == FORMAT_NAGIOS ? STATUS_PLUGIN_UNKNOWN :
									STATUS_ERROR;
}

/* Returns the exit status. */
static int exercise_and_report(const struct arguments *arguments)
{
	CLEANUP_FREE struct run *run = calloc(1, sizeof(*run));
	int signal;

	if (!run) {
		error("out of memory");
		return STATUS_ERROR;
	}
	run->arguments = arguments;
	run->directory_fd = -1;

	interrupts_hold(&run->interrupts);
	run_exercise(run);
	close_fd(&run->directory_fd);
	flush_output(run);
	/* There is nothing left to clean up: another signal ends a gnuplot that hangs, too. */
	signal = interrupts_pending(&run->interrupts);
	interrupts_forget(&run->interrupts);
	interrupts_release(&run->interrupts);
	finish_plot(run);
	if (signal)
		raise(signal);
	return run->status;
}

/* -- the command -- */

int log_stats_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global };

	if (options_parse(&argp, argc, argv, 0, &arguments))
		return options_ask_for_format(&argp, argc, argv, global, FORMAT_NAGIOS) ?
			       print_plugin_unknown("the arguments are wrong") :
			       STATUS_ERROR;
	if (global->done)
		return STATUS_OK;
	if (arguments.watch)
		return log_stats_watch(arguments.directory, arguments.interval_ns, global);
	return exercise_and_report(&arguments);
}
