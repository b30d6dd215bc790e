// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "seek-map-report.h"
#include "ui/histogram.h"
#include "ui/progress.h"
#include "ui/quoted-name.h"
#include "ui/terminal.h"

static const struct table_column sum_columns[] = {
	{ "Size", 10, false },	  { "Data", 10, false }, { "Hole", 10, false },
	{ "Segments", 8, false }, { "Path", 0, true },
};

static const struct table_column segment_columns[] = {
	{ "Offset", 12, false },
	{ "Length", 10, false },
	{ "Type", 4, true },
	{ "Extent", 8, true },
};

/* Of this many pairs of walks the middle half says something. */
#define PAIRS_MIN 5

#define SEGMENT_COLUMN_COUNT (sizeof(segment_columns) / sizeof(segment_columns[0]))

static const struct table_column timing_columns[] = {
	{ "Walk", 8, true }, { "Calls", 10, false }, { "Total", 9, false },
	{ "Min", 9, false }, { "Mean", 9, false },   { "p50", 9, false },
	{ "p99", 9, false }, { "Max", 9, false },    { "Calls/s", 9, false },
};

/* Without --fiemap all data is drawn as regular. */
static const struct block_kind map_kinds[EXTENT_KIND_COUNT] = {
	[EXTENT_KIND_HOLE] = { "hole", '.', "90" },
	[EXTENT_KIND_REGULAR] = { "data", '#', "32" },
	[EXTENT_KIND_INLINE] = { "inline", 'i', "36" },
	[EXTENT_KIND_PREALLOC] = { "prealloc", '-', "34" },
	[EXTENT_KIND_DELALLOC] = { "delalloc", 'd', "33" },
};

/* Without FIEMAP only the first two kinds are told apart. */
static size_t map_kind_count(const struct arguments *arguments)
{
	return arguments->fiemap ? EXTENT_KIND_COUNT : EXTENT_KIND_REGULAR + 1;
}

static int open_report(struct report *report)
{
	const struct arguments *arguments = report->arguments;
	int ret = 0;

	if (arguments->map && file_options_ask_for_several(&arguments->files))
		ret = block_maps_new(&report->maps, map_kinds, map_kind_count(arguments),
				     arguments->map);
	return ret < 0 ? ret : TABLE_NEW(&report->summary, sum_columns);
}

static void close_report(struct report *report)
{
	block_maps_free(report->maps);
	table_free(report->summary);
}

/* -- the segments of a file -- */

static int prepare_map(struct report *report, uint64_t size)
{
	const struct arguments *arguments = report->arguments;

	if (!arguments->map)
		return 0;
	return block_map_new_for_file(&report->map, map_kinds, map_kind_count(arguments),
				      arguments->files.range, size, arguments->map);
}

static int prepare_rows(struct report *report)
{
	const struct arguments *arguments = report->arguments;

	if (arguments->summarize)
		return 0;
	return table_new(&report->rows, segment_columns,
			 arguments->fiemap ? SEGMENT_COLUMN_COUNT : SEGMENT_COLUMN_COUNT - 1);
}

static int end_segments(struct report *report)
{
	return table_end(&report->rows);
}

static void end_file(struct report *report)
{
	end_segments(report);
	block_map_free(report->map);
	report->map = NULL;
	report->path = NULL;
}

static int begin_file(struct report *report, const char *path, uint64_t size)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);
	int ret;

	report->path = path;
	ret = prepare_map(report, size);
	if (ret == 0)
		ret = prepare_rows(report);
	if (ret < 0) {
		end_file(report);
	} else if (seek_map_wants_details(report->arguments)) {
		progress_clear();
		printf("%sFile: %s\n", report->files->file_count ? "\n" : "", quoted);
	}
	return ret;
}

static int print_segment(struct report *report, const struct part *part)
{
	const struct arguments *arguments = report->arguments;
	struct table *table = report->rows;

	if (report->map)
		block_map_add(report->map, part->kind,
			      (struct byte_range){ part->offset, part->length });
	if (!table)
		return 0;

	table_begin_row(table);
	/* A rounded offset would be of no use. */
	table_number_cell(table, part->offset);
	table_size_cell(table, part->length, arguments->global->sizes);
	table_cell(table, part_type_name(part));
	if (arguments->fiemap)
		table_cell(table, extent_kind_names[part->kind]);
	return table_error(table);
}

/* A warning on standard error tells of it. */
static void print_changed(struct report *report, bool changed)
{
	(void)report;
	(void)changed;
}

static void print_calls(struct report *report, uint64_t calls)
{
	if (report->arguments->global->verbosity <= 0 || !seek_map_wants_details(report->arguments))
		return;
	progress_clear();
	printf("lseek calls: %" PRIu64 "\n", calls);
}

/* -- what it costs: --timing and its kin -- */

static void print_figures(struct table *table, const char *walk,
			  const struct latency_figures *figures)
{
	const uint64_t times[] = { figures->total, figures->min, figures->mean,
				   figures->p50,   figures->p99, figures->max };
	char text[UNITS_TEXT_SIZE];

	table_begin_row(table);
	table_cell(table, walk);
	table_number_cell(table, figures->calls);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		table_cell(table, figures->calls ? format_time(text, times[i]) : "-");
	snprintf(text, sizeof(text), "%" PRIu64, latency_calls_per_second(figures));
	table_cell(table, figures->calls ? text : "-");
}

static int print_walks(const struct timing *timing)
{
	static const char *const names[WALK_COUNT] = { "cold", "warm", "reopened" };
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, timing_columns);
	if (ret < 0)
		return ret;
	for (int i = 0; i < WALK_COUNT; i++)
		if (timing->measured[i])
			print_figures(table, names[i], &timing->figures[i]);
	return table_finish(table);
}

/* What one pair of walks says depends on what else the machine did. */
static void print_ratio(const struct quartiles *percent, uint64_t pair_count)
{
	printf("A new descriptor for each call takes %.2f times as long", percent->median / 100.0);
	if (pair_count < PAIRS_MIN)
		printf(", by too few walks: use --repeat\n");
	else
		printf(", %.2f to %.2f in half of the pairs%s\n", percent->low / 100.0,
		       percent->high / 100.0,
		       percent->low <= 100 && percent->high >= 100 ? ": no clear difference" : "");
}

static int print_timing(struct report *report, const struct timing *timing)
{
	uint64_t repeat = report->arguments->repeat;
	int ret;

	if (!timing)
		return 0;
	ret = print_walks(timing);
	if (ret < 0)
		return ret;

	if (repeat > 1)
		printf("Warm%s: medians of %" PRIu64 " walks\n",
		       timing->measured[WALK_REOPENED] ? " and reopened" : "", repeat);
	if (timing->measured[WALK_REOPENED] && timing->figures[WALK_WARM].total)
		print_ratio(&timing->reopened_percent, repeat);
	return report->arguments->histogram ? histogram_print(&timing->spread, "Calls") : 0;
}

static void print_counters(struct report *report, const struct counter_delta *delta)
{
	(void)report;
	if (delta)
		counter_delta_report(delta, NULL);
}

/* -- whether the kernel is slow: --verdict -- */

static void print_seek_cache(const struct verdict *verdict)
{
	const struct feature_status *status = &verdict->seek_cache;
	bool is_slow = verdict->seek.state == SEEK_SLOW;

	if (status->state == FEATURE_ABSENT)
		puts(is_slow ?
			     "Seek-cache: absent; it helps here, see btrfs-fastpath-kernel(7)" :
			     "Seek-cache: absent; calls can get slow when the file is read or written");
	else if (!is_slow)
		return;
	else if (status->state == FEATURE_UNKNOWN)
		puts("Seek-cache: unknown; see btrfs-fastpath status --measure");
	else if (status->state == FEATURE_IMPROVED)
		puts("Seek-cache: improved; it does not help here");
	else if (status->evidence == FEATURE_BY_LIST)
		puts("Seek-cache: present; it does not help here");
	else
		puts("Seek-cache: present as in mainline, which stays slow if much data is not on "
		     "disk yet: sync the file, or see btrfs-fastpath-kernel(7)");
}

static void print_verdict(struct report *report, const struct verdict *verdict)
{
	const struct seek_verdict *seek;
	double low, middle, high;
	char call[UNITS_TEXT_SIZE];

	(void)report;
	if (!verdict)
		return;
	progress_clear();
	seek = &verdict->seek;
	low = seek->growth_percent.low / 100.0;
	middle = seek->growth_percent.median / 100.0;
	high = seek->growth_percent.high / 100.0;
	format_time(call, seek->median.call_ns);
	if (!seek->sample_count)
		puts("Verdict: inconclusive: there was nothing to measure");
	else if (seek->state == SEEK_FINE)
		printf("Verdict: a call costs %s and does not grow with the file: "
		       "not the kernel's seek problem\n",
		       call);
	else if (seek->state == SEEK_SLOW)
		printf("Verdict: a call costs %s, at the start of the file %.1f times as much as "
		       "at its end: the kernel's seek problem\n",
		       call, middle);
	else
		printf("Verdict: inconclusive: a call costs %s, at the start of the file %.1f to "
		       "%.1f times as much as at its end\n",
		       call, low, high);
	print_seek_cache(verdict);
}

/* -- whether it is true: --check -- */

/* Text has nothing to say of a check before its findings. */
static void begin_check(struct report *report, enum check_kind kind)
{
	(void)report;
	(void)kind;
}

/* The rows before a finding must not come after it. */
static void begin_finding(struct report *report)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->path);

	table_flush(report->summary);
	progress_clear();
	printf("%sDisagreement%s in %s: ", terminal_alarm_begin(), terminal_alarm_end(), quoted);
}

static void print_disagreement(struct report *report, const struct part *part)
{
	char length[UNITS_TEXT_SIZE];

	begin_finding(report);
	printf("%s at %" PRIu64 " is %s to lseek and %s to FIEMAP\n",
	       format_size(length, part->length, report->arguments->global->sizes), part->offset,
	       part_type_name(part), extent_kind_names[part->kind]);
}

static void print_nonzero_hole(struct report *report, const struct seek_segment *hole,
			       uint64_t offset)
{
	char length[UNITS_TEXT_SIZE];

	begin_finding(report);
	printf("the hole of %s at %" PRIu64 " is not zero at %" PRIu64 "\n",
	       format_size(length, hole->length, report->arguments->global->sizes), hole->offset,
	       offset);
}

static void end_check(struct report *report, enum check_kind kind, bool passed)
{
	static const char *const praise[CHECK_KIND_COUNT] = {
		[CHECK_MAPS] = "lseek and FIEMAP agree",
		[CHECK_HOLES] = "all holes read as zeros",
	};

	if (!passed || !seek_map_wants_details(report->arguments))
		return;
	progress_clear();
	printf("Check: %s\n", praise[kind]);
}

/* -- the end of a file, and of all -- */

static void print_map(struct report *report)
{
	if (!report->map)
		return;
	if (report->maps) {
		block_maps_add(report->maps, report->path, report->map);
		return;
	}
	progress_clear();
	block_map_print(report->map, stdout, terminal_has_colours());
}

static int print_maps(struct report *report)
{
	if (!report->maps)
		return 0;
	return block_maps_print(report->maps, report->arguments->global->sizes, stdout,
				terminal_has_colours());
}

static int print_sums_row(struct table *table, const struct sums *sums, const char *path,
			  struct size_format format)
{
	table_begin_row(table);
	table_size_cell(table, sums->size, format);
	table_size_cell(table, sums->data_bytes, format);
	table_size_cell(table, sums->hole_bytes, format);
	table_number_cell(table, sums->segment_count);
	table_cell(table, path);
	return table_error(table);
}

static int print_sums(struct report *report, const char *path, const struct sums *sums)
{
	struct size_format format = report->arguments->global->sizes;
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	if (!seek_map_wants_details(report->arguments))
		return print_sums_row(report->summary, sums, path, format);
	ret = TABLE_NEW(&table, sum_columns);
	if (ret < 0)
		return ret;
	print_sums_row(table, sums, path, format);
	return table_end(&table);
}

static int print_total(struct report *report, const struct sums *total)
{
	const struct arguments *arguments = report->arguments;

	if (!file_options_ask_for_several(&arguments->files) || report->files->file_count == 1)
		return table_finish(report->summary);
	if (seek_map_wants_details(arguments))
		putchar('\n');
	print_sums_row(report->summary, total, "total", arguments->global->sizes);
	return table_finish(report->summary);
}

/* A complaint on standard error tells of it. */
static void failed(struct report *report, int ret)
{
	(void)report;
	(void)ret;
}

const struct report_ops seek_map_text = {
	.open = open_report,
	.close = close_report,
	.begin_file = begin_file,
	.segment = print_segment,
	.end_segments = end_segments,
	.changed = print_changed,
	.calls = print_calls,
	.timing = print_timing,
	.counters = print_counters,
	.verdict = print_verdict,
	.no_check = begin_check,
	.begin_check = begin_check,
	.disagreement = print_disagreement,
	.nonzero_hole = print_nonzero_hole,
	.end_check = end_check,
	.map = print_map,
	.sums = print_sums,
	.failed = failed,
	.end_file = end_file,
	.total = print_total,
	.maps = print_maps,
};
