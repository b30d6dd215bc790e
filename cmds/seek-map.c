// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "commands.h"
#include "seek-map.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "ui/message.h"
#include "ui/progress.h"

#define REPEAT_MAX 1000
#define SEGMENTS_PER_PROGRESS 256
/* Where calls take milliseconds, this many samples and this much time are enough. */
#define TIME_ENOUGH_NS (10 * NANOSECONDS_PER_SECOND)

/* -- options -- */

enum {
	OPTION_MAP = 0x2000,
	OPTION_HISTOGRAM,
	OPTION_COLD,
	OPTION_REOPEN,
	OPTION_REPEAT,
	OPTION_CHECK,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to report:", 1 },
	{ "fiemap", FLAG(struct seek_options, fiemap), NULL, 0,
	  "Also show the kind of extent, from FIEMAP", 1 },
	{ "map", OPTION_MAP, "HEIGHT", OPTION_ARG_OPTIONAL,
	  "Draw the file as HEIGHT lines of blocks (1)", 1 },
	{ "qemu", FLAG(struct seek_options, qemu), NULL, 0,
	  "Print segments as qemu-img map --output=json", 1 },
	{ "summarize", 's', NULL, 0, "Print only the sums of each file", 1 },
	{ "summary", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "check", OPTION_CHECK, "data", OPTION_ARG_OPTIONAL,
	  "Compare with FIEMAP; data: also read the holes", 1 },
	{ NULL, 0, NULL, 0, "Cost:", 2 },
	{ "verdict", FLAG(struct seek_options, verdict), NULL, 0,
	  "Report whether the kernel is to blame", 2 },
	{ "timing", FLAG(struct seek_options, timing), NULL, 0,
	  "Print how long the lseek calls take", 2 },
	{ "histogram", OPTION_HISTOGRAM, NULL, 0, "Like --timing, with a histogram", 2 },
	{ "cold", OPTION_COLD, NULL, 0, "Like --timing, and first drop all caches (root)", 2 },
	{ "reopen", OPTION_REOPEN, NULL, 0, "Like --timing, and also reopen for each call", 2 },
	{ "repeat", OPTION_REPEAT, "N", 0, "Like --timing, with the medians of N walks", 2 },
	{ 0 },
};

static error_t parse_check(struct seek_options *arguments, const char *text)
{
	static const char *const words[] = { "data", NULL };

	arguments->check = true;
	arguments->check_data = text;
	return text && parse_word("--check", text, words) < 0 ? EINVAL : 0;
}

static error_t check_seek_options(struct seek_options *arguments)
{
	const struct seek_options *a = arguments;
	bool is_plugin = a->global->format == FORMAT_NAGIOS;
	const struct option_rule rules[] = {
		{ a->summarize && a->fiemap && !a->map,
		  "--fiemap cannot be combined with --summarize, except with --map" },
		{ a->global->metrics && ((a->check && !is_plugin) || a->fiemap || a->map ||
					 a->qemu || a->verdict),
		  "metrics cannot be combined with --check, --fiemap, --map, --qemu or --verdict" },
		{ a->qemu && a->global->format == FORMAT_NDJSON,
		  "--qemu does not support --format ndjson" },
		{ a->qemu && file_options_ask_for_several(&a->files),
		  "--qemu requires exactly one file" },
		{ a->qemu && (a->fiemap || a->map || a->summarize || a->timing || a->verdict ||
			      a->check || is_plugin),
		  "--qemu cannot be combined with other reports" },
		{ 0 },
	};

	arguments->check |= is_plugin;
	arguments->files.is_timed = a->timing || a->verdict;
	return a->global->done ? 0 : check_option_rules(rules);
}

static error_t parse_seek_option(int key, char *text, struct argp_state *state)
{
	struct seek_options *arguments = state->input;

	switch (key) {
	case OPTION_MAP:
		arguments->map = 1;
		return text ? parse_count("--map", text, BLOCK_MAP_HEIGHT_MAX, &arguments->map) : 0;
	case 's':
		arguments->summarize = true;
		return 0;
	case OPTION_CHECK:
		return parse_check(arguments, text);
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
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->files;
		state->child_inputs[1] = arguments->global;
		return 0;
	case ARGP_KEY_END:
		return check_seek_options(arguments);
	default:
		return options_set_flag(key, arguments);
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_seek_option,
	.children = file_argp_children,
	.args_doc = "PATH...",
	.doc = "Show where a file on btrfs has data and where it has holes, as lseek finds "
	       "them, and how long finding them takes.\vWithout options there is a row for "
	       "each segment, data or hole, and the sums of the file. Only --cold writes data "
	       "back and needs root; the other options work for every file that you can read.",
};

/* -- the whole run -- */

bool seek_map_wants_details(const struct seek_options *arguments)
{
	return !arguments->summarize || arguments->timing || arguments->verdict || arguments->map;
}

void seek_map_show_progress(const struct seek_details *details, uint64_t segment_count)
{
	if (segment_count % SEGMENTS_PER_PROGRESS == 0 && progress_due())
		progress_show("%" PRIu64 " files, then %" PRIu64 " segments",
			      details->scan->files.file_count, segment_count);
}

void seek_map_start_walk(const struct seek_details *details, struct seek_iter *iter)
{
	seek_iter_start(iter, details->fd, details->range, details->size);
}

/* -- what it costs: --timing and its kin -- */

static int time_walk(const struct seek_details *details, bool reopen, struct latency *latency)
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

static int time_cold_walk(const struct seek_details *details, struct seek_timing *timing)
{
	int ret;

	if (!details->scan->arguments->cold)
		return 0;
	ret = files_drop_caches(&details->scan->files, details->fd);
	if (ret <= 0)
		return ret;
	ret = time_walk(details, false, &timing->latency);
	timing->figures[WALK_COLD] = latency_figures_of(&timing->latency);
	timing->measured[WALK_COLD] = true;
	return ret;
}

/* Walks both ways in turn, so that what else the machine does falls on both. */
static int time_rounds(const struct seek_details *details, struct seek_timing *timing,
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

/* Pair by pair, since both walks of a pair run under the same load. */
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

static int measure(const struct seek_details *details, struct seek_timing *timing)
{
	const struct seek_options *arguments = details->scan->arguments;
	CLEANUP_FREE struct latency_figures *warm = NULL;
	CLEANUP_FREE struct latency_figures *reopened = NULL;
	int ret;

	memset(timing, 0, sizeof(*timing));
	warm = calloc(arguments->repeat, sizeof(*warm));
	if (arguments->reopen)
		reopened = calloc(arguments->repeat, sizeof(*reopened));
	if (!warm || (arguments->reopen && !reopened))
		return -ENOMEM;

	ret = time_cold_walk(details, timing);
	if (ret == 0)
		ret = time_rounds(details, timing, warm, reopened);
	if (ret == 0)
		ret = latency_figures_median(warm, arguments->repeat, &timing->figures[WALK_WARM]);
	if (ret == 0 && reopened)
		ret = latency_figures_median(reopened, arguments->repeat,
					     &timing->figures[WALK_REOPENED]);
	if (ret == 0 && reopened)
		ret = compare_rounds(warm, reopened, arguments->repeat, &timing->reopened_percent);
	timing->is_compared = reopened && arguments->repeat >= TIMING_PAIRS_MIN &&
			      timing->figures[WALK_REOPENED].calls;
	timing->measured[WALK_WARM] = true;
	timing->measured[WALK_REOPENED] = arguments->reopen;
	return ret;
}

/* -- whether the kernel is slow: --verdict -- */

static void prepare_verdict(struct seek_scan *scan)
{
	struct feature_status statuses[FEATURE_COUNT];
	struct utsname kernel;

	uname(&kernel);
	feature_status_read(NULL, kernel.release, statuses);
	scan->seek_cache = statuses[FEATURE_SEEK_CACHE];
}

/* Samples of the whole file; an empty one has none. Returns 0 or a negative errno. */
static int judge_kernel(struct seek_details *details)
{
	struct seek_sample samples[SEEK_VERDICT_SAMPLES];
	uint64_t started_ns = monotonic_ns();
	size_t count = 0;

	for (int i = 0; details->size && i < SEEK_VERDICT_SAMPLES; i++) {
		int ret;

		if (count >= SEEK_VERDICT_SAMPLES_MIN &&
		    monotonic_ns() - started_ns > TIME_ENOUGH_NS)
			break;
		if (progress_due())
			progress_show("%" PRIu64 " files, then sample %d of %d",
				      details->scan->files.file_count, i + 1, SEEK_VERDICT_SAMPLES);
		ret = seek_sample_take(details->fd, details->size, &samples[count]);
		if (ret < 0)
			return ret;
		/* a sample of a file that changed does not count */
		count += ret;
	}
	details->verdict = (struct kernel_verdict){
		.seek = seek_verdict_of(samples, count),
		.seek_cache = details->scan->seek_cache,
	};
	return 0;
}

/* -- the segments -- */

int seek_map_split_segment(struct kind_walk *kinds, const struct seek_segment *segment,
			   part_function *function, void *data)
{
	uint64_t end = segment->offset + segment->length;
	struct seek_part part = { .offset = segment->offset, .is_data = segment->is_data };

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

static int report_part(void *data, const struct seek_part *part)
{
	return seek_report_segment(data, part);
}

static int report_segment(struct seek_details *details, const struct seek_segment *segment)
{
	const struct seek_part part = {
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

static void add_segment(struct seek_sums *sums, const struct seek_segment *segment)
{
	sums->segment_count++;
	if (segment->is_data)
		sums->data_bytes += segment->length;
	else
		sums->hole_bytes += segment->length;
}

/* Whether the file is not what it was when it was opened. */
static bool has_other_size(const struct seek_details *details)
{
	struct stat status;

	return fstat(details->fd, &status) == 0 && (uint64_t)status.st_size != details->size;
}

void seek_map_warn_if_changed(const struct seek_details *details)
{
	if (details->changed)
		warning_path("changed while it was mapped:", details->path, 0);
}

static int report_segments(struct seek_details *details)
{
	const struct seek_scan *scan = details->scan;
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

/* Looks at what must be measured before the report begins. */
static int begin_file(struct seek_details *details)
{
	struct seek_scan *scan = details->scan;
	int ret = 0;

	/* Before anything else looks at the file, and warms what is to be timed cold. */
	if (scan->timing)
		ret = measure(details, scan->timing);
	if (ret == 0 && scan->arguments->verdict)
		ret = judge_kernel(details);
	if (ret == 0)
		ret = seek_report_begin_file(details->report, details->path, details->size);
	return ret;
}

/* What comes after the segments. */
static int report_after_segments(struct seek_details *details)
{
	struct seek_report *report = details->report;
	int ret;

	seek_report_calls(report, details->changed, details->sums.calls);
	ret = seek_report_timing(report, details->scan->timing);
	seek_report_verdict(report, details->scan->arguments->verdict ? &details->verdict : NULL);
	if (ret == 0)
		ret = seek_map_report_check(details);
	file_maps_report(&report->maps, report->path);
	return ret;
}

static int report_sums(struct seek_details *details)
{
	details->scan->files.file_count++;
	return seek_report_sums(details->report, &details->sums);
}

static struct seek_details details_of(struct seek_scan *scan, const struct opened_file *file)
{
	uint64_t size = file->status.st_size;

	return (struct seek_details){
		.scan = scan,
		.report = &scan->report,
		.path = opened_file_path(file),
		.fd = file->fd,
		.size = size,
		.range = byte_range_cut(scan->arguments->files.range, size),
		.sums.size = size,
	};
}

static struct failure seek_report_file(void *data, const struct opened_file *file)
{
	struct seek_details details = details_of(data, file);
	int ret = details.path ? begin_file(&details) : -ENOMEM;
	int ended;

	if (ret < 0)
		return (struct failure){ "cannot map", ret };
	ret = report_segments(&details);
	ended = rows_end(&details.report->rows);
	if (ret == 0)
		ret = ended;
	if (ret == 0)
		ret = report_after_segments(&details);
	if (ret == 0)
		ret = report_sums(&details);
	seek_report_end_file(details.report, ret);
	return ret < 0 ? (struct failure){ "cannot map", ret } : NO_FAILURE;
}

/* -- as qemu-img has it: --qemu -- */

static int print_qemu_map(struct seek_details *details)
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
	struct seek_details details = details_of(data, file);
	int ret = details.path ? print_qemu_map(&details) : -ENOMEM;

	return ret < 0 ? (struct failure){ "cannot map", ret } : NO_FAILURE;
}

/* -- the command -- */

static int make_iterators(struct seek_scan *scan)
{
	const struct seek_options *arguments = scan->arguments;
	int ret = 0;

	scan->iter = scan->second_iter = NULL;
	if (arguments->fiemap || arguments->check)
		ret = fiemap_iter_new(&scan->iter);
	if (ret == 0 && arguments->check)
		ret = fiemap_iter_new(&scan->second_iter);
	return ret;
}

static int seek_prepare(struct seek_scan *scan)
{
	const struct seek_options *arguments = scan->arguments;
	int ret;

	if (arguments->verdict)
		prepare_verdict(scan);
	ret = make_iterators(scan);
	if (ret < 0 || !arguments->timing)
		return ret;
	scan->timing = malloc(sizeof(*scan->timing));
	return scan->timing ? 0 : -ENOMEM;
}

static int seek_give_up(void *data)
{
	struct seek_scan *scan = data;

	if (scan->report.path)
		seek_report_end_file(&scan->report, -EBUSY);
	return make_iterators(scan);
}

static void seek_release(struct seek_scan *scan)
{
	seek_report_close(&scan->report);
	free(scan->timing);
	fiemap_iter_free(scan->second_iter);
	fiemap_iter_free(scan->iter);
}

static const struct file_ops report_ops = { .report = seek_report_file, .given_up = seek_give_up };

/* Of one file, whose map has nothing around it. */
static const struct file_ops qemu_ops = { .report = report_qemu_map };

/* What comes after the files. Returns as files_each(), which returned RET. */
static int seek_finish(struct seek_scan *scan, int ret)
{
	int ended = 0;

	files_end_results(&scan->files);
	if (files_have_total(&scan->files, ret))
		ended = seek_report_total(&scan->report);
	if (ret == 0)
		ret = ended;
	/* Below everything else, where nothing comes between them. */
	return ret < 0 ? ret : file_maps_report_all(&scan->report.maps, scan->files.out.sizes);
}

int seek_map_run(int argc, char **argv, struct global_options *global)
{
	struct seek_options arguments = { .global = global, .files.global = global, .repeat = 1 };
	CLEANUP(seek_release)
	struct seek_scan scan = {
		.arguments = &arguments,
		.files.options = &arguments.files,
		.report = { .arguments = &arguments, .files = &scan.files },
	};
	int ret, status;

	if (!file_options_parse(&argp, argc, argv, &arguments, &arguments.files, &status))
		return status;
	ret = seek_prepare(&scan);
	if (ret == 0)
		ret = files_begin(&scan.files, arguments.qemu ? NULL : "seek-map");
	if (ret == 0)
		ret = files_each(&scan.files, arguments.qemu ? &qemu_ops : &report_ops, &scan);
	if (!arguments.qemu)
		ret = seek_finish(&scan, ret);
	return files_end(&scan.files, ret);
}
