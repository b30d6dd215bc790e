// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupts.h"
#include "fs/commit-counters.h"
#include "log-stats-watch.h"
#include "ui/counter-delta.h"
#include "ui/directory.h"
#include "ui/exit-status.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/standard-files.h"
#include "ui/table.h"

/* What happened between two looks. */
struct row {
	uint64_t elapsed_ns;
	struct commit_counters before;
	struct commit_counters after;
	struct counter_delta counter_delta;
};

/* Prints rows as they come; one of those below. */
struct reporter {
	const char *directory;
	/* of text */
	struct table *table;
	struct json_writer json;
	int (*begin)(struct reporter *reporter);
	int (*row)(struct reporter *reporter, const struct row *row);
	/* may be NULL */
	void (*end)(struct reporter *reporter);
};

struct watch {
	const char *directory;
	uint64_t interval_ns;
	int directory_fd;
	struct interrupts interrupts;
	uint64_t started_at;
	struct reporter reporter;
	/* what went to standard output did not all get there */
	bool output_lost;
	int status;
};

/* -- text -- */

static const struct table_column row_columns[] = {
	{ "Elapsed", 9, false },      { "Generation", 12, false }, { "Commits", 9, false },
	{ "Commit time", 12, false }, { "Last", 9, false },	   { "Longest", 9, false },
};

static int begin_text(struct reporter *reporter)
{
	return TABLE_NEW(&reporter->table, row_columns);
}

static int print_row(struct reporter *reporter, const struct row *row)
{
	const struct commit_counters *after = &row->after, *before = &row->before;
	const uint64_t times[] = {
		after->total_commit_ms - before->total_commit_ms,
		after->last_commit_ms,
		after->max_commit_ms,
	};
	struct table *table = reporter->table;
	char text[UNITS_TEXT_SIZE];

	table_begin_row(table);
	table_cell(table, format_time(text, row->elapsed_ns));
	if (after->generation_known)
		table_number_cell(table, after->generation);
	else
		table_cell(table, "-");
	snprintf(text, sizeof(text), "%" PRIu64, after->commits - before->commits);
	table_cell(table, after->stats_known ? text : "-");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		format_time(text, times[i] * NANOSECONDS_PER_MILLISECOND);
		table_cell(table, after->stats_known ? text : "-");
	}
	return table_flush(table);
}

/* -- JSON -- */

static int begin_json(struct reporter *reporter)
{
	json_begin(&reporter->json, stdout, JSON_DOCUMENT);
	json_begin_object(&reporter->json, "log-stats");
	json_add_name(&reporter->json, "path", reporter->directory);
	json_begin_array(&reporter->json, "samples");
	return 0;
}

static void json_known_ms(struct json_writer *json, const char *key, bool known, uint64_t count)
{
	json_add_known_uint(json, key, known, count * NANOSECONDS_PER_MILLISECOND);
}

static void json_figures(struct json_writer *json, const struct row *row)
{
	const struct commit_counters *after = &row->after, *before = &row->before;
	bool known = after->stats_known;

	json_add_uint(json, "elapsed_ns", row->elapsed_ns);
	json_add_known_uint(json, "generation", after->generation_known, after->generation);
	json_add_known_uint(json, "commits", known, after->commits - before->commits);
	json_known_ms(json, "commit_ns", known, after->total_commit_ms - before->total_commit_ms);
	json_known_ms(json, "last_commit_ns", known, after->last_commit_ms);
	json_known_ms(json, "longest_commit_ns", known, after->max_commit_ms);
	counter_delta_report(&row->counter_delta, json);
}

static int json_row(struct reporter *reporter, const struct row *row)
{
	json_begin_object(&reporter->json, NULL);
	json_figures(&reporter->json, row);
	json_end_object(&reporter->json);
	return 0;
}

static void end_json(struct reporter *reporter)
{
	json_end_array(&reporter->json);
	json_end_object(&reporter->json);
	json_end(&reporter->json);
}

/* -- lines of JSON: each row is a result -- */

static int begin_lines(struct reporter *reporter)
{
	json_begin_results(&reporter->json, stdout, JSON_LINES, "log-stats");
	return 0;
}

static int json_line(struct reporter *reporter, const struct row *row)
{
	json_begin_result(&reporter->json);
	json_add_name(&reporter->json, "path", reporter->directory);
	json_figures(&reporter->json, row);
	json_end_result(&reporter->json);
	return 0;
}

static const struct reporter text_reporter = { .begin = begin_text, .row = print_row };

static const struct reporter json_reporters[] = {
	[JSON_DOCUMENT] = { .begin = begin_json, .row = json_row, .end = end_json },
	[JSON_LINES] = { .begin = begin_lines, .row = json_line },
};

/* -- watching -- */

/* A signal ends the wait for whoever should read, and is then all that is to be said. */
static void flush_output(struct watch *watch)
{
	int err;

	if (standard_output_flush(&err) == 0)
		return;
	watch->output_lost = true;
	if (interrupts_pending(&watch->interrupts))
		return;
	standard_output_complain(err);
	watch->status = STATUS_ERROR;
}

static int report_row(struct watch *watch, struct row *row)
{
	int ret = commit_counters_read(NULL, watch->directory_fd, &row->after);

	if (ret < 0)
		return ret;
	counter_delta_end(&row->counter_delta);
	row->elapsed_ns = monotonic_ns() - watch->started_at;
	ret = watch->reporter.row(&watch->reporter, row);
	row->before = row->after;
	flush_output(watch);
	return ret;
}

/* Returns 0 when it is interrupted, or a negative errno. */
static int report_rows(struct watch *watch)
{
	struct row row = { 0 };
	int ret;

	ret = commit_counters_read(NULL, watch->directory_fd, &row.before);
	if (ret == 0 && !row.before.generation_known && !row.before.stats_known)
		ret = -EOPNOTSUPP;
	watch->started_at = monotonic_ns();
	for (uint64_t due = watch->started_at + watch->interval_ns; ret == 0 && !watch->output_lost;
	     due += watch->interval_ns) {
		uint64_t now = monotonic_ns();

		/* After SIGSTOP, or a system that slept, one row is due and not one an interval. */
		if (now > due + watch->interval_ns)
			due = now;
		counter_delta_begin(&row.counter_delta, watch->directory_fd);
		if (interrupts_sleep(&watch->interrupts, due > now ? due - now : 0))
			break;
		ret = report_row(watch, &row);
	}
	return ret;
}

/* Returns 0 or a negative errno, of which it has not complained. */
static int report(struct watch *watch)
{
	int ret;

	ret = watch->reporter.begin(&watch->reporter);
	if (ret < 0)
		return ret;
	watch->directory_fd = directory_open(watch->directory);
	if (watch->directory_fd < 0)
		watch->status = STATUS_ERROR;
	else
		ret = report_rows(watch);
	return ret;
}

static bool is_expected_end(const struct watch *watch)
{
	int signal = watch->interrupts.signal;

	return !watch->output_lost && (signal == SIGINT || signal == SIGTERM);
}

static void run(struct watch *watch)
{
	int ret = report(watch);

	if (ret < 0) {
		error_path("cannot watch", watch->directory, ret);
		watch->status = STATUS_ERROR;
	}
	if (watch->reporter.end && !watch->output_lost)
		watch->reporter.end(&watch->reporter);
	table_free(watch->reporter.table);
	close_fd(&watch->directory_fd);
	flush_output(watch);
}

int log_stats_watch(const char *directory, uint64_t interval_ns,
		    const struct global_options *global)
{
	struct watch watch = {
		.directory = directory,
		.interval_ns = interval_ns,
		.directory_fd = -1,
		.reporter = global->json ? json_reporters[global->json_style] : text_reporter,
		.status = STATUS_OK,
	};

	watch.reporter.directory = directory;
	interrupts_hold(&watch.interrupts);
	run(&watch);
	interrupts_pending(&watch.interrupts);
	if (is_expected_end(&watch))
		interrupts_forget(&watch.interrupts);
	interrupts_release(&watch.interrupts);
	return watch.status;
}
