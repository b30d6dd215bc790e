// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "fs/commit-counters.h"
#include "log-stats-causes.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "sys/interrupts.h"
#include "ui/counter-delta.h"
#include "ui/directory.h"
#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/record.h"
#include "ui/standard-files.h"

/* How often causes are counted. */
#define COUNT_INTERVAL_NS (100 * NANOSECONDS_PER_MILLISECOND)

struct watch {
	const char *directory;
	uint64_t interval_ns;
	enum cause_kind by;
	/* NULL without BY */
	struct causes *causes;
	int directory_fd;
	struct interrupts interrupts;
	uint64_t started_at;
	struct output out;
	/* without BY */
	struct rows *rows;
	/* what went to standard output did not all get there */
	bool output_lost;
	int status;
};

/* -- rows as they come -- */

/* Between two readings. */
struct watch_row {
	uint64_t elapsed_ns;
	struct commit_counters counters;
	struct commit_change commits;
	uint64_t last_ns;
	uint64_t longest_ns;
};

#define WATCH(member) offsetof(struct watch_row, member)

static const struct field watch_fields[] = {
	{ WATCH(elapsed_ns), FIELD_TIME, .key = "elapsed_ns", .title = "Elapsed",
	  .help = "The time since the start." },
	{ WATCH(counters.generation), FIELD_NUMBER, .key = "generation", .title = "Generation",
	  .width = 12, .known = WATCH(counters.generation_known),
	  .help = "The number of the transaction that began last; null if the kernel does not report it." },
	{ WATCH(commits.count), FIELD_NUMBER, .key = "commits", .title = "Commits", .width = 9,
	  .known = WATCH(commits.known),
	  .help = "The number of commits since the row before; null if the kernel does not report it." },
	{ WATCH(commits.total_ns), FIELD_TIME, .key = "commit_ns", .title = "Commit time",
	  .width = 12, .known = WATCH(commits.known),
	  .help = "The time that they took; null if the kernel does not report it." },
	{ WATCH(last_ns), FIELD_TIME, .key = "last_commit_ns", .title = "Last",
	  .known = WATCH(counters.stats_known),
	  .help = "The time of the last commit; null if the kernel does not report it." },
	{ WATCH(longest_ns), FIELD_TIME, .key = "longest_commit_ns", .title = "Longest",
	  .known = WATCH(counters.stats_known),
	  .help = "The longest time of a commit since the mount; null if the kernel does not report it." },
	{ 0 },
};

struct watched {
	const char *path;
	const char *by;
};

#define WATCHED(member) offsetof(struct watched, member)

static const struct field watched_fields[] = {
	{ WATCHED(path), FIELD_PATH, .key = "path", .help = "The directory, as it was named." },
	{ WATCHED(by), FIELD_TEXT, .key = "by", .optional = true,
	  .help = "Only with --by: its value." },
	{ 0 },
};

static void add_watched(struct watch *watch)
{
	const struct watched row = {
		.path = watch->directory,
		.by = watch->by ? cause_kind_name(watch->by) : NULL,
	};

	record_members(&watch->out, watched_fields, &row);
}

/* A line of JSON has one row; a document has an array of them. */
static int begin_rows(struct watch *watch)
{
	struct json_writer *json = &watch->out.json;

	if (watch->out.format == FORMAT_NDJSON) {
		json_begin_results(json, stdout, JSON_LINES, "log-stats");
	} else if (watch->out.format == FORMAT_JSON) {
		json_begin(json, stdout, JSON_DOCUMENT);
		json_begin_object(json, "log-stats");
		add_watched(watch);
		json_begin_array(json, "samples");
	}
	return watch->by ? 0 : rows_new(&watch->rows, &watch->out, NULL, watch_fields, 0);
}

static int print_row(struct watch *watch, const struct watch_row *row,
		     const struct counter_delta *counter_delta)
{
	struct output *out = &watch->out;
	int ret;

	json_begin_result(&out->json);
	if (out->format == FORMAT_NDJSON)
		add_watched(watch);
	record_members(out, watch_fields, row);
	if (watch->causes)
		ret = causes_report(watch->causes, row->elapsed_ns, out);
	else
		ret = rows_add(watch->rows, row);
	rows_flush(watch->rows);
	/* They would tear the table apart. */
	if (watch->causes || out->format != FORMAT_TEXT)
		counter_delta_report(counter_delta, out);
	json_end_result(&out->json);
	return ret;
}

static void end_rows(struct watch *watch)
{
	struct json_writer *json = &watch->out.json;

	if (watch->out.format == FORMAT_NDJSON)
		return;
	json_end_array(json);
	json_end_object(json);
	json_end(json);
}

/* -- watching -- */

static void flush_output(struct watch *watch)
{
	if (standard_output_flush_held(&watch->interrupts) == 0)
		return;
	watch->output_lost = true;
	watch->status = STATUS_ERROR;
}

/* COUNTERS are those before the row, and get those after it. */
static int report_interval(struct watch *watch, struct commit_counters *counters,
			   struct counter_delta *counter_delta)
{
	struct watch_row row = { 0 };
	int ret = commit_counters_read(NULL, watch->directory_fd, &row.counters);

	if (ret < 0)
		return ret;
	counter_delta_end(counter_delta);
	row.elapsed_ns = monotonic_ns() - watch->started_at;
	row.commits = commit_counters_change(counters, &row.counters);
	row.last_ns = row.counters.last_commit_ms * NANOSECONDS_PER_MILLISECOND;
	row.longest_ns = row.counters.max_commit_ms * NANOSECONDS_PER_MILLISECOND;
	*counters = row.counters;
	ret = print_row(watch, &row, counter_delta);
	flush_output(watch);
	return ret;
}

/* Returns 0; or 1, and complains. */
static int begin_causes(struct watch *watch)
{
	int ret = causes_begin(&watch->causes, watch->by, watch->directory_fd);

	if (ret == 0)
		return 0;
	watch->status = STATUS_ERROR;
	if (ret == -EPERM || ret == -EACCES)
		error("--by requires root: %s", strerror(-ret));
	else if (ret == -EOPNOTSUPP)
		error("--by requires tracepoints of btrfs, which this kernel does not have");
	else if (ret == -ENOSYS)
		error("--by requires libtracefs, without which this program was built");
	else
		error_path("cannot trace the file system of", watch->directory, ret);
	return 1;
}

/* Returns 1 if a signal came before DUE, 0, or a negative errno. */
static int wait_for_interval(struct watch *watch, uint64_t due)
{
	uint64_t now = monotonic_ns();
	bool is_interrupted;
	int ret = 0;

	do {
		uint64_t wait_ns = due > now ? due - now : 0;

		if (watch->causes && wait_ns > COUNT_INTERVAL_NS)
			wait_ns = COUNT_INTERVAL_NS;
		is_interrupted = interrupts_sleep(&watch->interrupts, wait_ns);
		if (watch->causes)
			ret = causes_count(watch->causes);
		now = monotonic_ns();
	} while (ret == 0 && !is_interrupted && now < due);
	return ret < 0 ? ret : is_interrupted;
}

/* Returns 0 when it is interrupted, or a negative errno. */
static int report_intervals(struct watch *watch)
{
	bool is_interrupted = false;
	struct counter_delta counter_delta = { 0 };
	struct commit_counters counters;
	int ret;

	ret = commit_counters_read(NULL, watch->directory_fd, &counters);
	if (ret == 0 && !counters.generation_known && !counters.stats_known)
		ret = -EOPNOTSUPP;
	if (ret == 0 && watch->by)
		ret = begin_causes(watch);
	watch->started_at = monotonic_ns();
	for (uint64_t due = watch->started_at + watch->interval_ns;
	     ret == 0 && !is_interrupted && !watch->output_lost; due += watch->interval_ns) {
		uint64_t now = monotonic_ns();

		/* After SIGSTOP, or a system that slept, one row is due and not one an interval. */
		if (now > due + watch->interval_ns)
			due = now;
		counter_delta_begin(&counter_delta, watch->directory_fd);
		ret = wait_for_interval(watch, due);
		is_interrupted = ret > 0;
		/* An interval that was interrupted has causes, too. */
		if (ret == 0 || (ret > 0 && watch->causes))
			ret = report_interval(watch, &counters, &counter_delta);
	}
	return ret < 0 ? ret : 0;
}

/* Returns 0 or a negative errno, and reports no error. */
static int watch_directory(struct watch *watch)
{
	int ret;

	ret = begin_rows(watch);
	if (ret < 0)
		return ret;
	watch->directory_fd = directory_open(watch->directory);
	if (watch->directory_fd < 0)
		watch->status = STATUS_ERROR;
	else
		ret = report_intervals(watch);
	return ret;
}

static bool is_expected_end(const struct watch *watch)
{
	int signal = watch->interrupts.signal;

	return !watch->output_lost && (signal == SIGINT || signal == SIGTERM);
}

static void watch_until_signal(struct watch *watch)
{
	int ret = watch_directory(watch);

	if (ret < 0) {
		error_path("cannot watch", watch->directory, ret);
		watch->status = STATUS_ERROR;
	}
	if (!watch->output_lost)
		end_rows(watch);
	rows_end(&watch->rows);
	causes_end(&watch->causes);
	close_fd(&watch->directory_fd);
	flush_output(watch);
}

int log_stats_watch(const char *directory, uint64_t interval_ns, enum cause_kind by,
		    const struct global_options *global)
{
	struct watch watch = {
		.directory = directory,
		.interval_ns = interval_ns,
		.by = by,
		.directory_fd = -1,
		.out = output_of(global),
		.status = STATUS_OK,
	};

	interrupts_hold(&watch.interrupts);
	watch_until_signal(&watch);
	interrupts_pending(&watch.interrupts);
	if (is_expected_end(&watch))
		interrupts_forget(&watch.interrupts);
	interrupts_release(&watch.interrupts);
	return watch.status;
}
