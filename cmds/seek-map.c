// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mul-div.h"
#include "base/saturating-add.h"
#include "commands.h"
#include "seek-map-check.h"
#include "seek-map-verdict.h"
#include "seek-map.h"
#include "ui/message.h"
#include "ui/progress.h"

#define REPEAT_MAX 1000
#define SEGMENTS_PER_PROGRESS 256

/* -- options -- */

enum {
	OPTION_FIEMAP = 0x2000,
	OPTION_MAP,
	OPTION_QEMU,
	OPTION_TIMING,
	OPTION_HISTOGRAM,
	OPTION_COLD,
	OPTION_REOPEN,
	OPTION_REPEAT,
	OPTION_VERDICT,
	OPTION_CHECK,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "fiemap", OPTION_FIEMAP, NULL, 0,
	  "Also show the kind of extent by FIEMAP: regular, inline, prealloc, delalloc or hole",
	  1 },
	{ "map", OPTION_MAP, "HEIGHT", OPTION_ARG_OPTIONAL,
	  "Draw the file from start to end as HEIGHT lines (1) of blocks, several files on one scale",
	  1 },
	{ "qemu", OPTION_QEMU, NULL, 0,
	  "Print only the segments, in the form of qemu-img map --output=json", 1 },
	{ "summarize", 's', NULL, 0, "Print the sums of each file, without its segments", 1 },
	{ "summary", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "check", OPTION_CHECK, "data", OPTION_ARG_OPTIONAL,
	  "Check whether FIEMAP agrees; with data, also whether holes read as zeros", 1 },
	{ NULL, 0, NULL, 0, "How long it takes:", 2 },
	{ "verdict", OPTION_VERDICT, NULL, 0,
	  "Say whether lseek is slow here because of the kernel, and whether seek-cache helps", 2 },
	{ "timing", OPTION_TIMING, NULL, 0, "Print how long the lseek calls take", 2 },
	{ "histogram", OPTION_HISTOGRAM, NULL, 0,
	  "Like --timing, and also print a histogram of the times", 2 },
	{ "cold", OPTION_COLD, NULL, 0,
	  "Like --timing, but first write back, drop all caches and time a cold pass (root)", 2 },
	{ "reopen", OPTION_REOPEN, NULL, 0,
	  "Like --timing, and also open the file anew for each call", 2 },
	{ "repeat", OPTION_REPEAT, "N", 0, "Like --timing, with the medians of N walks", 2 },
	{ 0 },
};

static error_t parse_check(struct arguments *arguments, const char *text)
{
	arguments->check = true;
	if (!text)
		return 0;
	if (strcmp(text, "data") != 0) {
		error_value("invalid value for --check:", text, " (expected data)");
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
		error("--fiemap cannot be combined with --summarize, except with --map");
		return EINVAL;
	}
	if (arguments->global->metrics &&
	    (arguments->check || arguments->fiemap || arguments->map || arguments->qemu ||
	     arguments->verdict)) {
		error("metrics cannot be combined with --check, --fiemap, --map, --qemu or --verdict");
		return EINVAL;
	}
	if (!arguments->qemu)
		return 0;
	if (arguments->global->format == FORMAT_NDJSON) {
		error("--qemu prints an array, which is no line of ndjson");
		return EINVAL;
	}
	if (file_options_ask_for_several(&arguments->files)) {
		error("--qemu needs exactly one file");
		return EINVAL;
	}
	if (arguments->fiemap || arguments->map || arguments->summarize || arguments->timing ||
	    arguments->verdict || arguments->check) {
		error("--qemu cannot be combined with other reports");
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
		arguments->map = 1;
		return text ? parse_count("--map", text, BLOCK_MAP_HEIGHT_MAX, &arguments->map) : 0;
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
		return parse_count("--repeat", text, REPEAT_MAX, &arguments->repeat);
	case OPTION_VERDICT:
		arguments->verdict = true;
		return 0;
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
	.doc = "Show where a file on btrfs has data and where it has holes, as lseek finds "
	       "them, and how long finding them takes.\vWithout options there is a row for "
	       "each segment, data or hole, and the sums of the file. Only --cold writes data "
	       "back and needs root; the other options work for every file that you can read.",
};

/* -- the whole run -- */

bool seek_map_wants_details(const struct arguments *arguments)
{
	return !arguments->summarize || arguments->timing || arguments->verdict || arguments->map;
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

static int report_total(void *data)
{
	struct scan *scan = data;

	return scan->report.ops->total(&scan->report, &scan->total);
}

void seek_map_show_progress(const struct details *details, uint64_t segment_count)
{
	if (segment_count % SEGMENTS_PER_PROGRESS == 0 && progress_due())
		progress_show("%" PRIu64 " files, then %" PRIu64 " segments",
			      details->scan->files.file_count, segment_count);
}

void seek_map_start_walk(const struct details *details, struct seek_iter *iter)
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
	seek_map_start_walk(details, &iter);
	iter.latency = latency;
	iter.reopen = reopen;
	while ((ret = seek_iter_next(&iter, &segment)) > 0)
		seek_map_show_progress(details, ++segment_count);
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

/* Pair by pair, since the two walks of a pair have the same load beside them. */
static int compare_rounds(const struct latency_figures *warm,
			  const struct latency_figures *reopened, size_t count,
			  struct quartiles *ret_percent)
{
	CLEANUP_FREE uint64_t *percents = calloc(count, sizeof(*percents));

	if (!percents)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		percents[i] = warm[i].total ? mul_div(reopened[i].total, 100, warm[i].total) : 100;
	*ret_percent = quartiles_of(percents, count);
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
	if (ret == 0 && reopened)
		ret = compare_rounds(warm, reopened, arguments->repeat, &timing->reopened_percent);
	timing->measured[WALK_WARM] = true;
	timing->measured[WALK_REOPENED] = arguments->reopen;
	return ret;
}

/* -- the segments -- */

int seek_map_split_segment(struct kind_walk *kinds, const struct seek_segment *segment,
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

static int report_part(void *data, const struct part *part)
{
	struct report *report = data;

	return report->ops->segment(report, part);
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
		return seek_map_split_segment(&details->kinds, segment, report_part,
					      details->report);
	return report_part(details->report, &part);
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

void seek_map_warn_if_changed(const struct details *details)
{
	if (details->changed)
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

	seek_map_start_walk(details, &iter);
	while ((ret = seek_iter_next(&iter, &segment)) > 0) {
		add_segment(&details->sums, &segment);
		seek_map_show_progress(details, details->sums.segment_count);
		ret = report_segment(details, &segment);
		if (ret < 0)
			break;
	}
	details->sums.calls = iter.calls;
	details->changed = iter.changed || has_other_size(details);
	if (ret == 0)
		seek_map_warn_if_changed(details);
	return ret;
}

/* -- putting a file's report together -- */

static int report_timing(struct details *details)
{
	const struct timing *timing = details->scan->timing;
	struct report *report = details->report;
	int ret;

	ret = report->ops->timing(report, timing);
	report->ops->counters(report, timing ? &timing->counter_delta : NULL);
	return ret;
}

/* What comes after the segments. */
static int report_findings(struct details *details)
{
	struct report *report = details->report;
	int ret;

	report->ops->changed(report, details->changed);
	report->ops->calls(report, details->sums.calls);
	ret = report_timing(details);
	report->ops->verdict(report, details->scan->arguments->verdict ? &details->verdict : NULL);
	if (ret == 0)
		ret = seek_map_report_check(details);
	report->ops->map(report);
	return ret;
}

static int report_sums(struct details *details)
{
	struct report *report = details->report;
	struct scan *scan = details->scan;

	count_file(scan, &details->sums);
	if (progress_due())
		progress_show("%" PRIu64 " files", scan->files.file_count);
	return report->ops->sums(report, details->path, &details->sums);
}

static int report_contents(struct details *details)
{
	struct report *report = details->report;
	int ret, ended;

	ret = report_segments(details);
	ended = report->ops->end_segments(report);
	if (ret == 0)
		ret = ended;
	if (ret == 0)
		ret = report_findings(details);
	return ret < 0 ? ret : report_sums(details);
}

static int report_opened_file(struct details *details)
{
	struct report *report = details->report;
	struct scan *scan = details->scan;
	int ret = 0;

	/* Before anything else looks at the file, and warms what is to be timed cold. */
	if (scan->timing)
		ret = measure(details, scan->timing);
	if (ret == 0 && scan->arguments->verdict)
		ret = seek_map_judge(details);
	if (ret == 0)
		ret = report->ops->begin_file(report, details->path, details->size);
	if (ret < 0)
		return ret;

	ret = report_contents(details);
	if (ret < 0)
		report->ops->failed(report, ret);
	report->ops->end_file(report);
	return ret;
}

static struct details details_of(struct scan *scan, const struct opened_file *file)
{
	uint64_t size = file->status.st_size;

	return (struct details){
		.scan = scan,
		.report = &scan->report,
		.path = file->path,
		.fd = file->fd,
		.size = size,
		.range = byte_range_cut(scan->arguments->files.range, size),
		.sums.size = size,
	};
}

static struct failure report_file(void *data, const struct opened_file *file)
{
	struct details details = details_of(data, file);
	int ret = report_opened_file(&details);

	return ret < 0 ? (struct failure){ "cannot map", ret } : NO_FAILURE;
}

/* -- as qemu-img has it: --qemu -- */

static int print_qemu_map(struct details *details)
{
	const char *separator = "[";
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	seek_map_start_walk(details, &iter);
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
		seek_map_warn_if_changed(details);
	return ret;
}

static struct failure report_qemu_map(void *data, const struct opened_file *file)
{
	struct details details = details_of(data, file);
	int ret = print_qemu_map(&details);

	return ret < 0 ? (struct failure){ "cannot map", ret } : NO_FAILURE;
}

/* -- the command -- */

static int prepare(void *data)
{
	struct scan *scan = data;
	const struct arguments *arguments = scan->arguments;
	int ret = 0;

	if (arguments->verdict)
		seek_map_prepare_verdict(scan);
	if (arguments->fiemap || arguments->check)
		ret = fiemap_iter_new(&scan->iter);
	if (ret == 0 && arguments->check)
		ret = fiemap_iter_new(&scan->second_iter);
	if (ret == 0)
		ret = scan->report.ops->open(&scan->report);
	if (ret < 0 || !arguments->timing)
		return ret;
	scan->timing = malloc(sizeof(*scan->timing));
	return scan->timing ? 0 : -ENOMEM;
}

static void release(void *data)
{
	struct scan *scan = data;

	scan->report.ops->close(&scan->report);
	free(scan->timing);
	fiemap_iter_free(scan->second_iter);
	fiemap_iter_free(scan->iter);
}

/* Below everything else, where nothing comes between them. */
static int report_maps(void *data)
{
	struct scan *scan = data;
	struct report *report = &scan->report;

	return report->ops->maps ? report->ops->maps(report) : 0;
}

static const struct file_report_ops report_ops = {
	.key = "seek-map",
	.prepare = prepare,
	.file = report_file,
	.total = report_total,
	.append = report_maps,
	.release = release,
};

/* The format of qemu-img has room for the map of one file, and nothing around it. */
static const struct file_report_ops qemu_ops = {
	.prepare = prepare,
	.file = report_qemu_map,
	.release = release,
};

static const struct report_ops *reporter_of(const struct global_options *global)
{
	if (global->metrics)
		return &seek_map_metrics;
	return global->json ? &seek_map_json : &seek_map_text;
}

static int run(const void *data)
{
	const struct arguments *arguments = data;
	struct scan scan = { .arguments = arguments };

	scan.report = (struct report){
		.ops = reporter_of(arguments->global),
		.arguments = arguments,
		.files = &scan.files,
	};
	return file_report_run(&scan.files, &arguments->files,
			       arguments->qemu ? &qemu_ops : &report_ops, &scan);
}

int seek_map_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global, .files.global = global, .repeat = 1 };

	return file_command_run(&argp, argc, argv, run, &arguments, &arguments.files);
}
