// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/find-nonzero.h"
#include "base/latency.h"
#include "base/name-escape.h"
#include "base/saturating-add.h"
#include "commands.h"
#include "fs/fiemap.h"
#include "seek/extent-kind.h"
#include "seek/seek-iter.h"
#include "ui/block-map.h"
#include "ui/counter-delta.h"
#include "ui/file-options.h"
#include "ui/file-report.h"
#include "ui/file-visit.h"
#include "ui/histogram.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/table.h"

#define REPEAT_MAX 1000
#define SEGMENTS_PER_PROGRESS 256
#define BYTES_PER_PROGRESS (UINT64_C(64) << 20)

/* -- options -- */

struct arguments {
	struct global_options *global;
	struct file_options files;
	bool fiemap;
	bool map;
	bool qemu;
	bool summarize;
	bool timing;
	bool histogram;
	bool cold;
	bool reopen;
	uint64_t repeat;
	bool check;
	bool check_data;
};

enum {
	OPTION_FIEMAP = 0x2000,
	OPTION_MAP,
	OPTION_QEMU,
	OPTION_TIMING,
	OPTION_HISTOGRAM,
	OPTION_COLD,
	OPTION_REOPEN,
	OPTION_REPEAT,
	OPTION_CHECK,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "fiemap", OPTION_FIEMAP, NULL, 0,
	  "Also what FIEMAP says: regular, inline, prealloc, delalloc or hole", 1 },
	{ "map", OPTION_MAP, NULL, 0, "The file from start to end as a line of blocks", 1 },
	{ "qemu", OPTION_QEMU, NULL, 0, "The segments alone, as qemu-img map --output=json", 1 },
	{ "summarize", 's', NULL, 0, "The sums of each file, without its segments", 1 },
	{ "check", OPTION_CHECK, "data", OPTION_ARG_OPTIONAL,
	  "Whether FIEMAP agrees; with data also whether holes read as zeros", 1 },
	{ NULL, 0, NULL, 0, "What it costs:", 2 },
	{ "timing", OPTION_TIMING, NULL, 0, "How long the lseek calls take", 2 },
	{ "histogram", OPTION_HISTOGRAM, NULL, 0, "As --timing, and how the times are spread", 2 },
	{ "cold", OPTION_COLD, NULL, 0,
	  "As --timing, and first write back, drop all caches and time it cold (root)", 2 },
	{ "reopen", OPTION_REOPEN, NULL, 0,
	  "As --timing, and without what the kernel remembers from call to call", 2 },
	{ "repeat", OPTION_REPEAT, "N", 0, "As --timing, medians of N walks", 2 },
	{ 0 },
};

static error_t parse_check(struct arguments *arguments, const char *text)
{
	arguments->check = true;
	if (!text)
		return 0;
	if (strcmp(text, "data") != 0) {
		error_value("--check knows data, not", text, "%s", "");
		return EINVAL;
	}
	arguments->check_data = true;
	return 0;
}

static error_t check_arguments(const struct arguments *arguments)
{
	if (arguments->global->done)
		return 0;
	if (arguments->summarize && arguments->fiemap && !arguments->map) {
		error("--fiemap adds to the segments, and --summarize leaves them out");
		return EINVAL;
	}
	if (!arguments->qemu)
		return 0;
	if (file_options_ask_for_several(&arguments->files)) {
		error("--qemu prints the map of one file");
		return EINVAL;
	}
	if (arguments->fiemap || arguments->map || arguments->summarize || arguments->timing ||
	    arguments->check) {
		error("--qemu leaves no room for other reports");
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_FIEMAP:
		arguments->fiemap = true;
		return 0;
	case OPTION_MAP:
		arguments->map = true;
		return 0;
	case OPTION_QEMU:
		arguments->qemu = true;
		return 0;
	case 's':
		arguments->summarize = true;
		return 0;
	case OPTION_CHECK:
		return parse_check(arguments, text);
	case OPTION_TIMING:
		arguments->timing = true;
		return 0;
	case OPTION_HISTOGRAM:
		arguments->timing = arguments->histogram = true;
		return 0;
	case OPTION_COLD:
		arguments->timing = arguments->cold = true;
		return 0;
	case OPTION_REOPEN:
		arguments->timing = arguments->reopen = true;
		return 0;
	case OPTION_REPEAT:
		arguments->timing = true;
		return parse_count("walks", text, REPEAT_MAX, &arguments->repeat);
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
	.doc = "Tell where a file on btrfs has data and where holes, as lseek finds them, and what "
	       "finding them costs.\vWithout options: a row per segment, data or hole, and the "
	       "file's sums. Nothing is written back, unless --cold is given. Only --cold needs "
	       "root; everything else works for any file that can be read.",
};

/* -- the whole run -- */

/* Bytes, but for the counts. */
struct sums {
	uint64_t size;
	uint64_t data_bytes;
	uint64_t hole_bytes;
	uint64_t segment_count;
	uint64_t calls;
};

enum walk { WALK_COLD, WALK_WARM, WALK_REOPENED, WALK_COUNT };

struct timing {
	/* medians; those not asked for, or not possible, are not measured */
	struct latency_figures figures[WALK_COUNT];
	bool measured[WALK_COUNT];
	/* all warm walks together */
	struct latency spread;
	/* during the first warm walk */
	struct counter_delta counter_delta;
	/* the walk under way */
	struct latency latency;
};

struct scan {
	const struct arguments *arguments;
	struct file_report files;
	struct sums total;
	/* for the files, one after the other */
	struct fiemap_iter *iter;
	/* with --check, for a second look */
	struct fiemap_iter *second_iter;
	struct timing *timing;
	struct table *summary;
};

/* One file. */
struct details {
	struct scan *scan;
	const char *path;
	int fd;
	uint64_t size;
	/* the part asked for, within the file */
	struct byte_range range;
	struct sums sums;
	bool changed;
	/* with --fiemap */
	struct kind_walk kinds;
	/* with --map */
	struct block_map *map;
	/* the segments, in text */
	struct table *rows;
};

static const struct table_column sum_columns[] = {
	{ "Size", 10, false },	  { "Data", 10, false }, { "Hole", 10, false },
	{ "Segments", 8, false }, { "Path", 0, true },
};

static int print_sums(struct table *table, const struct sums *sums, const char *path,
		      struct size_format format)
{
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_size_cell(table, sums->size, format);
	ret |= table_size_cell(table, sums->data_bytes, format);
	ret |= table_size_cell(table, sums->hole_bytes, format);
	ret |= table_number_cell(table, sums->segment_count);
	ret |= table_cell(table, path);
	return ret ? -ENOMEM : 0;
}

static void json_sums(struct json_writer *json, const struct sums *sums)
{
	json_add_uint(json, "size", sums->size);
	json_add_uint(json, "data_bytes", sums->data_bytes);
	json_add_uint(json, "hole_bytes", sums->hole_bytes);
	json_add_uint(json, "segment_count", sums->segment_count);
	json_add_uint(json, "calls", sums->calls);
}

static void count_file(struct scan *scan, const struct sums *sums)
{
	struct sums *total = &scan->total;

	/* Sparse files may well be larger together than 64 bits tell. */
	total->size = saturating_add(total->size, sums->size);
	total->data_bytes = saturating_add(total->data_bytes, sums->data_bytes);
	total->hole_bytes = saturating_add(total->hole_bytes, sums->hole_bytes);
	total->segment_count += sums->segment_count;
	total->calls += sums->calls;
	scan->files.file_count++;
}

/* Whether a file's report is more than its row of sums. */
static bool wants_details(const struct arguments *arguments)
{
	return !arguments->summarize || arguments->timing || arguments->map;
}

static int report_total(void *data)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;

	if (arguments->global->json) {
		json_begin_object(&scan->files.json, "total");
		json_add_uint(&scan->files.json, "file_count", scan->files.file_count);
		json_add_uint(&scan->files.json, "vanished_count",
			      scan->files.visit.vanished_count);
		json_sums(&scan->files.json, &scan->total);
		json_end_object(&scan->files.json);
		return 0;
	}
	if (!file_options_ask_for_several(&arguments->files) || scan->files.file_count == 1)
		return 0;
	if (wants_details(arguments))
		putchar('\n');
	return print_sums(scan->summary, &scan->total, "total", arguments->global->sizes);
}

static void show_progress(const struct details *details, uint64_t segment_count)
{
	if (segment_count % SEGMENTS_PER_PROGRESS == 0 && progress_due())
		progress_show("%" PRIu64 " files, then %" PRIu64 " segments",
			      details->scan->files.file_count, segment_count);
}

static void start_walk(const struct details *details, struct seek_iter *iter)
{
	seek_iter_start(iter, details->fd, details->range, details->size);
}

/* -- what it costs: --timing and its kin -- */

static int time_walk(const struct details *details, bool reopen, struct latency *latency)
{
	struct seek_segment segment;
	uint64_t segment_count = 0;
	struct seek_iter iter;
	int ret;

	*latency = (struct latency){ 0 };
	start_walk(details, &iter);
	iter.latency = latency;
	iter.reopen = reopen;
	while ((ret = seek_iter_next(&iter, &segment)) > 0)
		show_progress(details, ++segment_count);
	return ret;
}

static int time_cold(const struct details *details, struct timing *timing)
{
	int ret;

	if (!details->scan->arguments->cold)
		return 0;
	ret = file_visit_drop_caches(&details->scan->files.visit, details->fd);
	if (ret <= 0)
		return ret;
	ret = time_walk(details, false, &timing->latency);
	timing->figures[WALK_COLD] = latency_figures_of(&timing->latency);
	timing->measured[WALK_COLD] = true;
	return ret;
}

/* Walks both ways in turn, so that what else the machine does falls on both. */
static int time_rounds(const struct details *details, struct timing *timing,
		       struct latency_figures *warm, struct latency_figures *reopened)
{
	for (uint64_t i = 0; i < details->scan->arguments->repeat; i++) {
		int ret;

		if (i == 0)
			counter_delta_begin(&timing->counter_delta, details->fd);
		ret = time_walk(details, false, &timing->latency);
		if (i == 0)
			counter_delta_end(&timing->counter_delta);
		if (ret < 0)
			return ret;
		latency_add(&timing->spread, &timing->latency);
		warm[i] = latency_figures_of(&timing->latency);
		if (!reopened)
			continue;

		ret = time_walk(details, true, &timing->latency);
		if (ret < 0)
			return ret;
		reopened[i] = latency_figures_of(&timing->latency);
	}
	return 0;
}

static int measure(const struct details *details, struct timing *timing)
{
	const struct arguments *arguments = details->scan->arguments;
	CLEANUP_FREE struct latency_figures *warm = NULL;
	CLEANUP_FREE struct latency_figures *reopened = NULL;
	int ret;

	memset(timing, 0, sizeof(*timing));
	warm = calloc(arguments->repeat, sizeof(*warm));
	if (arguments->reopen)
		reopened = calloc(arguments->repeat, sizeof(*reopened));
	if (!warm || (arguments->reopen && !reopened))
		return -ENOMEM;

	ret = time_cold(details, timing);
	if (ret == 0)
		ret = time_rounds(details, timing, warm, reopened);
	if (ret == 0)
		ret = latency_figures_median(warm, arguments->repeat, &timing->figures[WALK_WARM]);
	if (ret == 0 && reopened)
		ret = latency_figures_median(reopened, arguments->repeat,
					     &timing->figures[WALK_REOPENED]);
	timing->measured[WALK_WARM] = true;
	timing->measured[WALK_REOPENED] = arguments->reopen;
	return ret;
}

static const struct table_column timing_columns[] = {
	{ "Walk", 8, true }, { "Calls", 10, false }, { "Total", 9, false },
	{ "Min", 9, false }, { "Mean", 9, false },   { "p50", 9, false },
	{ "p99", 9, false }, { "Max", 9, false },    { "Calls/s", 9, false },
};

static int print_figures(struct table *table, const char *walk,
			 const struct latency_figures *figures)
{
	const uint64_t times[] = { figures->total, figures->min, figures->mean,
				   figures->p50,   figures->p99, figures->max };
	char text[UNITS_TEXT_SIZE];
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_cell(table, walk);
	ret |= table_number_cell(table, figures->calls);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		ret |= table_cell(table, figures->calls ? format_time(text, times[i]) : "-");
	snprintf(text, sizeof(text), "%" PRIu64, latency_calls_per_second(figures));
	ret |= table_cell(table, figures->calls ? text : "-");
	return ret ? -ENOMEM : 0;
}

static int print_timing(const struct timing *timing, uint64_t repeat)
{
	static const char *const names[WALK_COUNT] = { "cold", "warm", "reopened" };
	const struct latency_figures *warm = &timing->figures[WALK_WARM];
	const struct latency_figures *reopened = &timing->figures[WALK_REOPENED];
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, timing_columns);
	for (int i = 0; i < WALK_COUNT && ret == 0; i++)
		if (timing->measured[i])
			ret = print_figures(table, names[i], &timing->figures[i]);
	if (ret == 0)
		ret = table_flush(table);
	if (ret < 0)
		return ret;

	if (repeat > 1)
		printf("Warm%s: medians of %" PRIu64 " walks\n",
		       timing->measured[WALK_REOPENED] ? " and reopened" : "", repeat);
	if (timing->measured[WALK_REOPENED] && warm->total)
		printf("A new descriptor for each call takes %.2f times as long\n",
		       (double)reopened->total / warm->total);
	return 0;
}

static void json_figures(struct json_writer *json, const char *key, const struct timing *timing,
			 enum walk walk)
{
	const struct latency_figures *figures = timing ? &timing->figures[walk] : NULL;

	if (!figures || !timing->measured[walk] || !figures->calls) {
		json_add_null(json, key);
		return;
	}
	json_begin_object(json, key);
	json_add_uint(json, "min", figures->min);
	json_add_uint(json, "mean", figures->mean);
	json_add_uint(json, "p50", figures->p50);
	json_add_uint(json, "p99", figures->p99);
	json_add_uint(json, "max", figures->max);
	json_add_uint(json, "total", figures->total);
	json_end_object(json);
}

static int report_timing(const struct details *details)
{
	struct scan *scan = details->scan;
	const struct timing *timing = scan->timing;
	const struct latency *spread = scan->arguments->histogram ? &timing->spread : NULL;
	struct json_writer *json = &scan->files.json;
	int ret = 0;

	if (scan->arguments->global->json) {
		json_figures(json, "latency_ns", timing, WALK_WARM);
		json_figures(json, "cold_latency_ns", timing, WALK_COLD);
		json_figures(json, "reopened_latency_ns", timing, WALK_REOPENED);
		if (timing && timing->figures[WALK_WARM].total)
			json_add_uint(json, "calls_per_second",
				      latency_calls_per_second(&timing->figures[WALK_WARM]));
		else
			json_add_null(json, "calls_per_second");
		histogram_json(spread, json);
	} else if (timing) {
		ret = print_timing(timing, scan->arguments->repeat);
		if (ret == 0 && spread)
			ret = histogram_print(spread, "Calls");
	}
	if (timing)
		counter_delta_report(&timing->counter_delta,
				     scan->arguments->global->json ? json : NULL);
	return ret;
}

/* -- the segments -- */

/* A segment, or with --fiemap and --check the part of it that is of one kind. */
struct part {
	uint64_t offset;
	uint64_t length;
	bool is_data;
	enum extent_kind kind;
};

typedef int part_function(void *data, const struct part *part);

/* Calls FUNCTION for each part of SEGMENT that is of one kind. */
static int split_segment(struct kind_walk *kinds, const struct seek_segment *segment,
			 part_function *function, void *data)
{
	uint64_t end = segment->offset + segment->length;
	struct part part = { .offset = segment->offset, .is_data = segment->is_data };

	while (part.offset < end) {
		uint64_t part_end;
		int ret;

		ret = kind_walk_at(kinds, part.offset, end, &part.kind, &part_end);
		if (ret < 0)
			return ret;
		part.length = part_end - part.offset;
		ret = function(data, &part);
		if (ret < 0)
			return ret;
		part.offset = part_end;
	}
	return 0;
}

static const char *type_name(bool is_data)
{
	return is_data ? "data" : "hole";
}

static const struct table_column segment_columns[] = {
	{ "Offset", 12, false },
	{ "Length", 10, false },
	{ "Type", 4, true },
	{ "Extent", 8, true },
};

#define SEGMENT_COLUMN_COUNT (sizeof(segment_columns) / sizeof(segment_columns[0]))

static int print_part(struct details *details, const struct part *part)
{
	const struct arguments *arguments = details->scan->arguments;
	int ret;

	ret = table_begin_row(details->rows);
	if (ret < 0)
		return ret;
	/* A rounded offset would be of no use. */
	ret |= table_number_cell(details->rows, part->offset);
	ret |= table_size_cell(details->rows, part->length, arguments->global->sizes);
	ret |= table_cell(details->rows, type_name(part->is_data));
	if (arguments->fiemap)
		ret |= table_cell(details->rows, extent_kind_names[part->kind]);
	return ret ? -ENOMEM : 0;
}

static void json_part(struct json_writer *json, const struct part *part, bool has_kind)
{
	json_begin_object(json, NULL);
	json_add_uint(json, "offset", part->offset);
	json_add_uint(json, "length", part->length);
	json_add_string(json, "type", type_name(part->is_data));
	json_add_string(json, "extent", has_kind ? extent_kind_names[part->kind] : NULL);
	json_end_object(json);
}

/* Without --fiemap all data is drawn as regular. */
static const struct block_kind map_kinds[EXTENT_KIND_COUNT] = {
	[EXTENT_KIND_HOLE] = { "hole", '.', "90" },
	[EXTENT_KIND_REGULAR] = { "data", '#', "32" },
	[EXTENT_KIND_INLINE] = { "inline", 'i', "36" },
	[EXTENT_KIND_PREALLOC] = { "prealloc", '-', "34" },
	[EXTENT_KIND_DELALLOC] = { "delalloc", 'd', "33" },
};

static int report_part(void *data, const struct part *part)
{
	struct details *details = data;
	const struct arguments *arguments = details->scan->arguments;

	if (details->map)
		block_map_add(details->map, part->kind,
			      (struct byte_range){ part->offset, part->length });
	if (details->rows)
		return print_part(details, part);
	if (arguments->global->json && !arguments->summarize)
		json_part(&details->scan->files.json, part, arguments->fiemap);
	return 0;
}

static int report_segment(struct details *details, const struct seek_segment *segment)
{
	const struct part part = {
		.offset = segment->offset,
		.length = segment->length,
		.is_data = segment->is_data,
		.kind = segment->is_data ? EXTENT_KIND_REGULAR : EXTENT_KIND_HOLE,
	};

	if (details->scan->arguments->fiemap)
		return split_segment(&details->kinds, segment, report_part, details);
	return report_part(details, &part);
}

static void add_segment(struct sums *sums, const struct seek_segment *segment)
{
	sums->segment_count++;
	if (segment->is_data)
		sums->data_bytes += segment->length;
	else
		sums->hole_bytes += segment->length;
}

/* Whether the file is not what it was when it was opened. */
static bool has_other_size(const struct details *details)
{
	struct stat status;

	return fstat(details->fd, &status) == 0 && (uint64_t)status.st_size != details->size;
}

static void warn_if_changed(const struct details *details)
{
	if (details->changed && details->scan->arguments->global->verbosity >= 0)
		warning_path("changed while it was mapped:", details->path, 0);
}

static int report_segments(struct details *details)
{
	const struct scan *scan = details->scan;
	struct seek_segment segment;
	struct seek_iter iter;
	int ret = 0;

	if (scan->arguments->fiemap)
		ret = kind_walk_start(&details->kinds, scan->iter, details->fd, details->range);
	if (ret < 0)
		return ret;

	start_walk(details, &iter);
	while ((ret = seek_iter_next(&iter, &segment)) > 0) {
		add_segment(&details->sums, &segment);
		show_progress(details, details->sums.segment_count);
		ret = report_segment(details, &segment);
		if (ret < 0)
			break;
	}
	details->sums.calls = iter.calls;
	details->changed = iter.changed || has_other_size(details);
	if (ret == 0)
		warn_if_changed(details);
	return ret;
}

/* -- whether it is true: --check -- */

struct check {
	struct details *details;
	uint64_t found;
};

typedef int check_function(struct check *check);

/* The rows before a finding must not come behind it. */
static void begin_finding(const struct check *check)
{
	CLEANUP_FREE char *quoted = quote_name(check->details->path);

	table_flush(check->details->scan->summary);
	progress_clear();
	printf("Disagreement in %s: ", quoted ? quoted : "?");
}

static bool agrees(const struct part *part)
{
	return extent_kind_is_data(part->kind) == part->is_data;
}

/* Gives PART each part of RANGE; ITER must not be in use. */
static int walk_both_maps(const struct details *details, struct byte_range range,
			  struct fiemap_iter *iter, part_function *part, void *data)
{
	struct seek_segment segment;
	uint64_t segment_count = 0;
	struct kind_walk kinds;
	struct seek_iter seek;
	int ret;

	ret = kind_walk_start(&kinds, iter, details->fd, range);
	if (ret < 0)
		return ret;
	seek_iter_start(&seek, details->fd, range, details->size);
	while ((ret = seek_iter_next(&seek, &segment)) > 0) {
		show_progress(details, ++segment_count);
		ret = split_segment(&kinds, &segment, part, data);
		if (ret < 0)
			break;
	}
	return ret;
}

static int report_disagreement(void *data, const struct part *part)
{
	struct check *check = data;
	const struct global_options *global = check->details->scan->arguments->global;
	char length[UNITS_TEXT_SIZE];

	if (agrees(part))
		return 0;
	check->found++;
	if (global->json) {
		json_part(&check->details->scan->files.json, part, true);
		return 0;
	}
	begin_finding(check);
	printf("%s at %" PRIu64 " is %s to lseek and %s to FIEMAP\n",
	       format_size(length, part->length, global->sizes), part->offset,
	       type_name(part->is_data), extent_kind_names[part->kind]);
	return 0;
}

/* The file may have changed between the two answers, so both are asked for once more. */
static int compare_part(void *data, const struct part *part)
{
	struct check *check = data;

	if (agrees(part))
		return 0;
	return walk_both_maps(check->details, (struct byte_range){ part->offset, part->length },
			      check->details->scan->second_iter, report_disagreement, check);
}

static int compare_maps(struct check *check)
{
	return walk_both_maps(check->details, check->details->range, check->details->scan->iter,
			      compare_part, check);
}

static void report_nonzero(struct check *check, const struct seek_segment *hole, uint64_t offset)
{
	const struct global_options *global = check->details->scan->arguments->global;
	struct json_writer *json = &check->details->scan->files.json;
	char length[UNITS_TEXT_SIZE];

	check->found++;
	if (global->json) {
		json_begin_object(json, NULL);
		json_add_uint(json, "offset", hole->offset);
		json_add_uint(json, "length", hole->length);
		json_add_uint(json, "nonzero_offset", offset);
		json_end_object(json);
		return;
	}
	begin_finding(check);
	printf("the hole of %s at %" PRIu64 " is not zero at %" PRIu64 "\n",
	       format_size(length, hole->length, global->sizes), hole->offset, offset);
}

/*
 * Looks again at OFFSET, in a hole up to END and not zero. Returns 1 if it is so still; 0 if the
 * file changed, with where to read on: behind what is data by now; or a negative errno.
 */
static int look_again(const struct details *details, uint64_t offset, uint64_t end,
		      uint64_t *ret_next)
{
	const struct byte_range rest = { offset, end - offset };
	struct seek_segment segment;
	struct seek_iter iter;
	uint64_t other;
	int ret;

	seek_iter_start(&iter, details->fd, rest, details->size);
	ret = seek_iter_next(&iter, &segment);
	if (ret < 0)
		return ret;
	if (!ret) {
		/* the file ends before it */
		*ret_next = end;
		return 0;
	}
	*ret_next = segment.is_data ? segment.offset + segment.length : offset + 1;
	if (segment.is_data)
		return 0;
	return find_nonzero(details->fd, (struct byte_range){ offset, 1 }, &other);
}

static void warn_of_lost_end(struct details *details)
{
	if (details->changed)
		return;
	details->changed = true;
	warn_if_changed(details);
}

/* Reports the first byte that is not zero. Reads piece by piece, since a hole may take hours. */
static int read_hole(struct check *check, const struct seek_segment *hole)
{
	struct details *details = check->details;
	uint64_t end = hole->offset + hole->length;
	uint64_t offset = hole->offset;

	while (offset < end) {
		uint64_t length = end - offset;
		uint64_t other;
		int ret;

		if (length > BYTES_PER_PROGRESS)
			length = BYTES_PER_PROGRESS;
		ret = find_nonzero(details->fd, (struct byte_range){ offset, length }, &other);
		offset += length;
		if (ret == 0 && other < offset) {
			warn_of_lost_end(details);
			return 0;
		}
		if (ret > 0)
			ret = look_again(details, other, end, &offset);
		if (ret < 0)
			return ret;
		if (ret > 0) {
			report_nonzero(check, hole, other);
			return 0;
		}
		if (progress_due())
			progress_show("%" PRIu64 " files, then holes read up to %" PRIu64,
				      details->scan->files.file_count, offset);
	}
	return 0;
}

static int read_holes(struct check *check)
{
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	start_walk(check->details, &iter);
	while ((ret = seek_iter_next(&iter, &segment)) > 0) {
		if (segment.is_data)
			continue;
		ret = read_hole(check, &segment);
		if (ret < 0)
			break;
	}
	return ret;
}

static int run_check(struct details *details, check_function *function, const char *key,
		     const char *praise)
{
	struct scan *scan = details->scan;
	const struct arguments *arguments = scan->arguments;
	struct check check = { .details = details };
	int ret;

	if (arguments->global->json)
		json_begin_array(&scan->files.json, key);
	ret = function(&check);
	if (arguments->global->json)
		json_end_array(&scan->files.json);
	else if (ret == 0 && !check.found && wants_details(arguments))
		printf("Check: %s\n", praise);

	/* An error outweighs it: not everything was checked then. */
	if (check.found && scan->files.visit.status == STATUS_OK)
		scan->files.visit.status = STATUS_CHECK_FAILED;
	return ret;
}

static int report_check(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct json_writer *json = &details->scan->files.json;
	int ret = 0;

	if (arguments->check)
		ret = run_check(details, compare_maps, "disagreements", "lseek and FIEMAP agree");
	else if (arguments->global->json)
		json_add_null(json, "disagreements");

	if (arguments->check_data && ret == 0)
		ret = run_check(details, read_holes, "nonzero_holes", "all holes read as zeros");
	else if (arguments->global->json)
		json_add_null(json, "nonzero_holes");
	return ret;
}

/* -- as qemu-img has it: --qemu -- */

static int print_qemu_map(struct details *details)
{
	const char *separator = "[";
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	start_walk(details, &iter);
	while ((ret = seek_iter_next(&iter, &segment)) > 0) {
		printf("%s{ \"start\": %" PRIu64 ", \"length\": %" PRIu64 ", \"depth\": 0, "
		       "\"present\": true, \"zero\": %s, \"data\": %s, \"offset\": %" PRIu64 "}",
		       separator, segment.offset, segment.length,
		       segment.is_data ? "false" : "true", segment.is_data ? "true" : "false",
		       segment.offset);
		separator = ",\n";
	}
	printf("%s]\n", *separator == '[' ? "[" : "");
	details->changed = iter.changed || has_other_size(details);
	if (ret == 0)
		warn_if_changed(details);
	return ret;
}

/* -- putting a file's report together -- */

static int prepare_map(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;

	if (!arguments->map || arguments->global->json)
		return 0;
	/* Of the kinds only the first two are told without FIEMAP. */
	return block_map_new_for_file(&details->map, map_kinds,
				      arguments->fiemap ? EXTENT_KIND_COUNT :
							  EXTENT_KIND_REGULAR + 1,
				      arguments->files.range, details->size);
}

static int prepare_rows(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;

	if (arguments->summarize || arguments->global->json)
		return 0;
	return table_new(&details->rows, segment_columns,
			 arguments->fiemap ? SEGMENT_COLUMN_COUNT : SEGMENT_COLUMN_COUNT - 1);
}

static void begin_file(const struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	struct json_writer *json = &details->scan->files.json;
	CLEANUP_FREE char *quoted = NULL;

	if (arguments->global->json) {
		json_begin_object(json, NULL);
		json_add_name(json, "path", details->path);
		if (arguments->summarize)
			json_add_null(json, "segments");
		else
			json_begin_array(json, "segments");
		return;
	}
	if (!wants_details(arguments))
		return;
	quoted = quote_name(details->path);
	printf("%sFile: %s\n", details->scan->files.file_count ? "\n" : "", quoted ? quoted : "?");
}

/* What comes behind the segments. */
static int report_findings(struct details *details)
{
	const struct global_options *global = details->scan->arguments->global;
	int ret;

	if (global->json)
		json_add_bool(&details->scan->files.json, "changed", details->changed);
	else if (global->verbosity > 0 && wants_details(details->scan->arguments))
		printf("lseek calls: %" PRIu64 "\n", details->sums.calls);

	ret = report_timing(details);
	if (ret == 0)
		ret = report_check(details);
	if (details->map)
		block_map_print(details->map, stdout, isatty(STDOUT_FILENO));
	return ret;
}

static int report_sums(struct details *details)
{
	struct scan *scan = details->scan;
	const struct global_options *global = scan->arguments->global;
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	count_file(scan, &details->sums);
	if (progress_due())
		progress_show("%" PRIu64 " files", scan->files.file_count);
	if (global->json) {
		json_sums(&scan->files.json, &details->sums);
		return 0;
	}
	if (!wants_details(scan->arguments))
		return print_sums(scan->summary, &details->sums, details->path, global->sizes);
	ret = TABLE_NEW(&table, sum_columns);
	if (ret < 0)
		return ret;
	return print_sums(table, &details->sums, details->path, global->sizes);
}

static int report_contents(struct details *details)
{
	const struct arguments *arguments = details->scan->arguments;
	int ret;

	ret = report_segments(details);
	table_free(details->rows);
	details->rows = NULL;
	if (arguments->global->json && !arguments->summarize)
		json_end_array(&details->scan->files.json);
	if (ret == 0)
		ret = report_findings(details);
	return ret < 0 ? ret : report_sums(details);
}

static int report_opened_file(struct details *details)
{
	struct scan *scan = details->scan;
	bool is_json = scan->arguments->global->json;
	int ret = 0;

	if (scan->arguments->qemu)
		return print_qemu_map(details);
	/* Before anything else looks at the file, and warms what is to be timed cold. */
	if (scan->timing)
		ret = measure(details, scan->timing);
	if (ret == 0)
		ret = prepare_map(details);
	if (ret == 0)
		ret = prepare_rows(details);
	if (ret < 0)
		return ret;

	begin_file(details);
	ret = report_contents(details);
	if (ret < 0 && is_json)
		json_add_string(&scan->files.json, "error", strerror(-ret));
	if (is_json)
		json_end_object(&scan->files.json);
	return ret;
}

static struct failure report_file(void *data, const struct opened_file *file)
{
	struct scan *scan = data;
	uint64_t size = file->status.st_size;
	struct details details = {
		.scan = scan,
		.path = file->path,
		.fd = file->fd,
		.size = size,
		.range = byte_range_cut(scan->arguments->files.range, size),
		.sums.size = size,
	};
	int ret;

	ret = report_opened_file(&details);
	block_map_free(details.map);
	table_free(details.rows);
	return ret < 0 ? (struct failure){ "cannot map", ret } : NO_FAILURE;
}

/* -- the command -- */

static int prepare(void *data)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;
	int ret = 0;

	if (arguments->fiemap || arguments->check)
		ret = fiemap_iter_new(&scan->iter);
	if (ret == 0 && arguments->check)
		ret = fiemap_iter_new(&scan->second_iter);
	if (ret == 0)
		ret = TABLE_NEW(&scan->summary, sum_columns);
	if (ret < 0 || !arguments->timing)
		return ret;
	scan->timing = malloc(sizeof(*scan->timing));
	return scan->timing ? 0 : -ENOMEM;
}

static void release(void *data)
{
	struct scan *scan = data;

	free(scan->timing);
	table_free(scan->summary);
	fiemap_iter_free(scan->second_iter);
	fiemap_iter_free(scan->iter);
}

static const struct file_report_ops report_ops = {
	.key = "seek-map",
	.prepare = prepare,
	.file = report_file,
	.total = report_total,
	.release = release,
};

/* The format of qemu-img has room for the map of one file, and nothing around it. */
static const struct file_report_ops qemu_ops = {
	.prepare = prepare,
	.file = report_file,
	.release = release,
};

static int run(const void *data)
{
	const struct arguments *arguments = data;
	struct scan scan = { .arguments = arguments };

	return file_report_run(&scan.files, &arguments->files,
			       arguments->qemu ? &qemu_ops : &report_ops, &scan);
}

int seek_map_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global, .files.global = global, .repeat = 1 };

	return file_command_run(&argp, argc, argv, run, &arguments, &arguments.files);
}
