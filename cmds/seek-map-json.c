// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "seek-map-report.h"
#include "ui/histogram.h"
#include "ui/json.h"

static int open_report(struct report *report)
{
	(void)report;
	return 0;
}

/* What JSON has no part for. */
static void nothing(struct report *report)
{
	(void)report;
}

/* -- the segments of a file -- */

static int begin_file(struct report *report, const char *path, uint64_t size)
{
	struct json_writer *json = &report->files->json;

	(void)size;
	json_begin_result(json);
	json_add_name(json, "path", path);
	if (report->arguments->summarize)
		json_add_null(json, "segments");
	else
		json_begin_array(json, "segments");
	return 0;
}

static void json_part(struct json_writer *json, const struct part *part, bool has_kind)
{
	json_begin_object(json, NULL);
	json_add_uint(json, "offset", part->offset);
	json_add_uint(json, "length", part->length);
	json_add_string(json, "type", part_type_name(part));
	json_add_string(json, "extent", has_kind ? extent_kind_names[part->kind] : NULL);
	json_end_object(json);
}

static int add_segment(struct report *report, const struct part *part)
{
	if (!report->arguments->summarize)
		json_part(&report->files->json, part, report->arguments->fiemap);
	return 0;
}

static int end_segments(struct report *report)
{
	if (!report->arguments->summarize)
		json_end_array(&report->files->json);
	return 0;
}

static void add_changed(struct report *report, bool changed)
{
	json_add_bool(&report->files->json, "changed", changed);
}

/* They are among the sums. */
static void add_calls(struct report *report, uint64_t calls)
{
	(void)report;
	(void)calls;
}

/* -- what it costs: --timing and its kin -- */

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

static void json_quartiles(struct json_writer *json, const char *key,
			   const struct quartiles *quartiles)
{
	if (!quartiles) {
		json_add_null(json, key);
		return;
	}
	json_begin_object(json, key);
	json_add_uint(json, "low", quartiles->low);
	json_add_uint(json, "median", quartiles->median);
	json_add_uint(json, "high", quartiles->high);
	json_end_object(json);
}

static int add_timing(struct report *report, const struct timing *timing)
{
	struct json_writer *json = &report->files->json;

	json_figures(json, "latency_ns", timing, WALK_WARM);
	json_figures(json, "cold_latency_ns", timing, WALK_COLD);
	json_figures(json, "reopened_latency_ns", timing, WALK_REOPENED);
	json_quartiles(json, "reopened_percent",
		       timing && timing->measured[WALK_REOPENED] &&
				       timing->figures[WALK_REOPENED].calls ?
			       &timing->reopened_percent :
			       NULL);
	if (timing && timing->figures[WALK_WARM].total)
		json_add_uint(json, "calls_per_second",
			      latency_calls_per_second(&timing->figures[WALK_WARM]));
	else
		json_add_null(json, "calls_per_second");
	histogram_json(report->arguments->histogram ? &timing->spread : NULL, json);
	return 0;
}

static void add_counters(struct report *report, const struct counter_delta *delta)
{
	if (delta)
		counter_delta_report(delta, &report->files->json);
}

/* -- whether the kernel is slow: --verdict -- */

static void json_helps(struct json_writer *json, const struct verdict *verdict)
{
	enum seek_help help = verdict_help(verdict);

	if (help == SEEK_HELP_UNKNOWN)
		json_add_null(json, "seek_cache_helps");
	else
		json_add_bool(json, "seek_cache_helps", help == SEEK_HELP_YES);
}

static void add_verdict(struct report *report, const struct verdict *verdict)
{
	struct json_writer *json = &report->files->json;
	const struct seek_verdict *seek;
	bool known;

	if (!verdict) {
		json_add_null(json, "verdict");
		return;
	}
	seek = &verdict->seek;
	known = seek->sample_count;
	json_begin_object(json, "verdict");
	json_add_string(json, "state", seek_state_name(seek->state));
	json_add_uint(json, "sample_count", seek->sample_count);
	json_add_known_uint(json, "call_ns", known, seek->median.call_ns);
	json_add_known_uint(json, "start_call_ns", known, seek->median.start_ns);
	json_add_known_uint(json, "end_call_ns", known, seek->median.end_ns);
	json_quartiles(json, "growth_percent", known ? &seek->growth_percent : NULL);
	json_add_string(json, "seek_cache", feature_state_name(verdict->seek_cache.state));
	json_helps(json, verdict);
	json_end_object(json);
}

/* -- whether it is true: --check -- */

static const char *const check_keys[CHECK_KIND_COUNT] = {
	[CHECK_MAPS] = "disagreements",
	[CHECK_HOLES] = "nonzero_holes",
};

static void no_check(struct report *report, enum check_kind kind)
{
	json_add_null(&report->files->json, check_keys[kind]);
}

static void begin_check(struct report *report, enum check_kind kind)
{
	json_begin_array(&report->files->json, check_keys[kind]);
}

static void add_disagreement(struct report *report, const struct part *part)
{
	json_part(&report->files->json, part, true);
}

static void add_nonzero_hole(struct report *report, const struct seek_segment *hole,
			     uint64_t offset)
{
	struct json_writer *json = &report->files->json;

	json_begin_object(json, NULL);
	json_add_uint(json, "offset", hole->offset);
	json_add_uint(json, "length", hole->length);
	json_add_uint(json, "nonzero_offset", offset);
	json_end_object(json);
}

static void end_check(struct report *report, enum check_kind kind, bool passed)
{
	(void)kind;
	(void)passed;
	json_end_array(&report->files->json);
}

/* -- the end of a file, and of all -- */

static void json_sums(struct json_writer *json, const struct sums *sums)
{
	json_add_uint(json, "size", sums->size);
	json_add_uint(json, "data_bytes", sums->data_bytes);
	json_add_uint(json, "hole_bytes", sums->hole_bytes);
	json_add_uint(json, "segment_count", sums->segment_count);
	json_add_uint(json, "calls", sums->calls);
}

static int add_sums(struct report *report, const char *path, const struct sums *sums)
{
	(void)path;
	json_sums(&report->files->json, sums);
	return 0;
}

static void failed(struct report *report, int ret)
{
	json_add_string(&report->files->json, "error", strerror(-ret));
}

static void end_file(struct report *report)
{
	json_end_result(&report->files->json);
}

static int add_total(struct report *report, const struct sums *total)
{
	struct json_writer *json = &report->files->json;

	file_report_begin_json_total(report->files);
	json_sums(json, total);
	json_end_object(json);
	return 0;
}

const struct report_ops seek_map_json = {
	.open = open_report,
	.close = nothing,
	.begin_file = begin_file,
	.segment = add_segment,
	.end_segments = end_segments,
	.changed = add_changed,
	.calls = add_calls,
	.timing = add_timing,
	.counters = add_counters,
	.verdict = add_verdict,
	.no_check = no_check,
	.begin_check = begin_check,
	.disagreement = add_disagreement,
	.nonzero_hole = add_nonzero_hole,
	.end_check = end_check,
	.map = nothing,
	.sums = add_sums,
	.failed = failed,
	.end_file = end_file,
	.total = add_total,
};
