// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>

#include "seek-map-report.h"
#include "sys/cleanup.h"
#include "ui/message.h"
#include "ui/plot.h"
#include "ui/progress.h"

static const struct metric files_metric = {
	"btrfs_fastpath_seek_files", METRIC_GAUGE, NULL,
	"The number of files, unless a single file was named."
};
static const struct metric size_metric = { "btrfs_fastpath_seek_file_bytes", METRIC_GAUGE, "bytes",
					   "Size of the file, or of all files." };
static const struct metric bytes_metric = {
	"btrfs_fastpath_seek_bytes", METRIC_GAUGE, "bytes",
	"Bytes of the file, or of all files, that lseek reports as data or as holes."
};
static const struct metric segments_metric = {
	"btrfs_fastpath_seek_segments", METRIC_GAUGE, NULL,
	"Segments of data or holes in the file, or in all files."
};
static const struct metric call_metric = {
	"btrfs_fastpath_seek_call_seconds", METRIC_HISTOGRAM, "seconds",
	"How long calls of lseek took in warm walks over the file."
};
static const struct metric walk_metric = {
	"btrfs_fastpath_seek_walk_seconds", METRIC_GAUGE, "seconds",
	"How long all calls of a walk over the file took: cold, warm, or with a new descriptor each."
};

static bool is_of_several(const struct seek_report *report)
{
	return file_options_ask_for_several(&report->arguments->files);
}

/* -- the segments of a file -- */

struct part_row {
	struct seek_part part;
	const char *type;
	/* NULL: it was not asked for */
	const char *extent;
};

/* With --fiemap. */
#define COLUMN_EXTENT 1

#define PART(member) offsetof(struct part_row, member)

/* A number for the offset: a rounded one would be of no use. */
static const struct field part_fields[] = {
	{ PART(part.offset), FIELD_NUMBER, .key = "offset", .title = "Offset", .width = 12,
	  .help = "Where it begins in the file." },
	{ PART(part.length), FIELD_SIZE, .key = "length", .title = "Length",
	  .help = "Its length in bytes." },
	{ PART(type), FIELD_TEXT, .key = "type", .title = "Type", .width = 4,
	  .help = "The answer of lseek." },
	{ PART(extent), FIELD_TEXT, .key = "extent", .title = "Extent", .width = 8,
	  .option = COLUMN_EXTENT,
	  .help = "The kind of extent according to FIEMAP; null without --fiemap." },
	{ 0 },
};

static struct part_row part_row_of(const struct seek_part *part, bool has_kind)
{
	return (struct part_row){
		.part = *part,
		.type = part_type_name(part),
		.extent = has_kind ? extent_kind_names[part->kind] : NULL,
	};
}

/* Without --fiemap all data is drawn as regular. */
static const struct block_kind map_kinds[EXTENT_KIND_REGULAR + 1] = {
	[EXTENT_KIND_HOLE] = { "hole", ".", "90" },
	[EXTENT_KIND_REGULAR] = { "data", ":+*#", "32" },
};

/* Data hides prealloc: a file can be preallocated and then written. */
static const struct block_kind fiemap_map_kinds[EXTENT_KIND_COUNT] = {
	{ "hole", ".", "90" },	 { "prealloc", "-=", "34" }, { "data", ":+*#", "32" },
	{ "inline", "i", "36" }, { "delalloc", "dD", "33" },
};

/* Indexes of these kinds. */
static const size_t map_kind_of[EXTENT_KIND_COUNT] = {
	[EXTENT_KIND_HOLE] = 0,	  [EXTENT_KIND_PREALLOC] = 1, [EXTENT_KIND_REGULAR] = 2,
	[EXTENT_KIND_INLINE] = 3, [EXTENT_KIND_DELALLOC] = 4,
};

static size_t map_kind_of_part(const struct seek_report *report, const struct seek_part *part)
{
	return report->arguments->fiemap ? map_kind_of[part->kind] : part->kind;
}

/* No other format has a map. */
static int begin_segment_map(struct seek_report *report, uint64_t size)
{
	const struct seek_options *arguments = report->arguments;

	if (!arguments->map || report->files->out.format != FORMAT_TEXT)
		return 0;
	report->maps.kinds = arguments->fiemap ? fiemap_map_kinds : map_kinds;
	report->maps.kind_count = arguments->fiemap ? EXTENT_KIND_COUNT : EXTENT_KIND_REGULAR + 1;
	return file_maps_begin(&report->maps, is_of_several(report), arguments->files.range, size,
			       arguments->map);
}

int seek_report_begin_file(struct seek_report *report, const char *path, uint64_t size)
{
	const struct seek_options *arguments = report->arguments;
	struct output *out = &report->files->out;
	int ret = begin_segment_map(report, size);

	if (ret < 0)
		return ret;
	report->path = path;
	if (seek_map_wants_details(arguments))
		files_say_path(report->files, path);
	files_begin_result(report->files, path);
	if (arguments->summarize)
		json_add_null(&out->json, "segments");
	else
		ret = rows_new(&report->rows, out, "segments", part_fields,
			       arguments->fiemap ? COLUMN_EXTENT : 0);
	if (ret < 0)
		seek_report_end_file(report, ret);
	return ret;
}

int seek_report_segment(struct seek_report *report, const struct seek_part *part)
{
	struct part_row row = part_row_of(part, report->arguments->fiemap);

	if (report->maps.map)
		block_map_add(report->maps.map, map_kind_of_part(report, part),
			      (struct byte_range){ part->offset, part->length });
	return report->rows ? rows_add(report->rows, &row) : 0;
}

void seek_report_calls(struct seek_report *report, bool changed, uint64_t calls)
{
	static const struct field changed_fields[] = {
		{ 0, FIELD_BOOL, .key = "changed",
		  .help = "Whether the file changed its size during the walk, or the answers contradict each other." },
		{ 0 },
	};
	struct output *out = &report->files->out;

	record_members(out, changed_fields, &changed);
	if (report->arguments->global->verbosity > 0 && seek_map_wants_details(report->arguments))
		record_say(out, "lseek calls: %" PRIu64 "\n", calls);
}

/* -- what it costs: --timing and its kin -- */

struct walk_row {
	const char *path;
	const char *name;
	struct latency_figures figures;
	bool has_calls;
	bool has_p99;
	uint64_t calls_per_second;
};

#define WALK(member) offsetof(struct walk_row, member)

static const struct field walk_fields[] = {
	{ WALK(path), FIELD_PATH, .label.name = "path" },
	{ WALK(name), FIELD_TEXT, .title = "Walk", .width = 8, .label.name = "walk" },
	{ WALK(figures.calls), FIELD_NUMBER, .title = "Calls", .width = 10 },
	{ WALK(figures.min), FIELD_TIME, .key = "min", .title = "Min", .place = 1,
	  .known = WALK(has_calls), .help = "The fastest." },
	{ WALK(figures.mean), FIELD_TIME, .key = "mean", .title = "Mean", .place = 1,
	  .known = WALK(has_calls), .help = "The mean." },
	{ WALK(figures.p50), FIELD_TIME, .key = "p50", .title = "p50", .place = 1,
	  .known = WALK(has_calls), .help = "The median." },
	{ WALK(figures.p99), FIELD_TIME, .key = "p99", .title = "p99", .place = 1,
	  .known = WALK(has_p99), .help = "The 99th percentile; null from fewer than 100 calls." },
	{ WALK(figures.max), FIELD_TIME, .key = "max", .title = "Max", .place = 1,
	  .known = WALK(has_calls), .help = "The slowest." },
	{ WALK(figures.total), FIELD_TIME, .key = "total", .title = "Total",
	  .known = WALK(has_calls), .help = "The sum." },
	{ WALK(figures.total), FIELD_TIME, .metric = &walk_metric },
	{ WALK(calls_per_second), FIELD_NUMBER, .title = "Calls/s", .width = 9, .place = 1,
	  .known = WALK(has_calls) },
	{ 0 },
};

static const struct field quartile_fields[] = {
	{ offsetof(struct quartiles, low), FIELD_NUMBER, .key = "low",
	  .help = "The first quartile." },
	{ offsetof(struct quartiles, median), FIELD_NUMBER, .key = "median",
	  .help = "The median." },
	{ offsetof(struct quartiles, high), FIELD_NUMBER, .key = "high",
	  .help = "The third quartile." },
	{ 0 },
};

static struct walk_row walk_row_of(const struct seek_report *report,
				   const struct seek_timing *timing, enum walk walk)
{
	static const char *const names[WALK_COUNT] = { "cold", "warm", "reopened" };
	const struct latency_figures *figures = &timing->figures[walk];

	return (struct walk_row){
		.path = report->path,
		.name = names[walk],
		.figures = *figures,
		.has_calls = figures->calls,
		.has_p99 = latency_has_percentile(figures->calls, 99),
		.calls_per_second = latency_calls_per_second(figures),
	};
}

static int report_walks(struct seek_report *report, const struct seek_timing *timing)
{
	struct output *out = &report->files->out;
	struct rows *rows;
	int ret = rows_new(&rows, out, NULL, walk_fields, 0);

	if (ret < 0)
		return ret;
	for (int i = 0; i < WALK_COUNT; i++) {
		const struct walk_row row = walk_row_of(report, timing, i);

		if (!timing->measured[i])
			continue;
		rows_add(rows, &row);
		if (!is_of_several(report))
			record_samples(out, walk_fields, &row);
	}
	return rows_end(&rows);
}

/* What one pair of walks says depends on what else the machine did. */
static void say_ratio(const struct output *out, const struct seek_timing *timing)
{
	const struct quartiles *percent = &timing->reopened_percent;

	if (!timing->is_compared) {
		record_say(out,
			   "A new descriptor for each call: too few walks to compare, "
			   "use --repeat %d\n",
			   TIMING_PAIRS_MIN);
		return;
	}
	record_say(out,
		   "A new descriptor for each call takes %.2f times as long, "
		   "%.2f to %.2f in half of the pairs%s\n",
		   percent->median / 100.0, percent->low / 100.0, percent->high / 100.0,
		   percent->low <= 100 && percent->high >= 100 ? ": no clear difference" : "");
}

/* In JSON; null unless it was measured. */
static void add_walk(struct seek_report *report, const char *key, const struct seek_timing *timing,
		     enum walk walk)
{
	bool is_known = timing && timing->measured[walk] && timing->figures[walk].calls;
	struct walk_row row;

	if (is_known)
		row = walk_row_of(report, timing, walk);
	record_object(&report->files->out, key, walk_fields, is_known ? &row : NULL);
}

struct rate_row {
	uint64_t calls_per_second;
	bool is_known;
};

static const struct field rate_fields[] = {
	{ offsetof(struct rate_row, calls_per_second), FIELD_NUMBER, .key = "calls_per_second",
	  .known = offsetof(struct rate_row, is_known),
	  .help = "With --timing the rate of the warm walk, else null." },
	{ 0 },
};

static void add_timing(struct seek_report *report, const struct seek_timing *timing)
{
	struct output *out = &report->files->out;
	struct rate_row rate = { 0 };

	rate.is_known = timing && timing->figures[WALK_WARM].total;
	if (rate.is_known)
		rate.calls_per_second = latency_calls_per_second(&timing->figures[WALK_WARM]);
	add_walk(report, "latency_ns", timing, WALK_WARM);
	add_walk(report, "cold_latency_ns", timing, WALK_COLD);
	add_walk(report, "reopened_latency_ns", timing, WALK_REOPENED);
	record_object(out, "reopened_percent", quartile_fields,
		      timing && timing->is_compared ? &timing->reopened_percent : NULL);
	record_members(out, rate_fields, &rate);
}

static int say_walk_timing(struct seek_report *report, const struct seek_timing *timing)
{
	struct output *out = &report->files->out;
	uint64_t repeat = report->arguments->repeat;
	int ret = report_walks(report, timing);

	if (ret == 0 && repeat > 1)
		record_say(out, "Warm%s: medians of %" PRIu64 " walks\n",
			   timing->measured[WALK_REOPENED] ? " and reopened" : "", repeat);
	if (ret == 0 && timing->measured[WALK_REOPENED] && timing->figures[WALK_WARM].total)
		say_ratio(out, timing);
	return ret;
}

struct call_row {
	const char *path;
	struct latency spread;
};

static const struct field call_fields[] = {
	{ offsetof(struct call_row, path), FIELD_PATH, .label.name = "path" },
	{ offsetof(struct call_row, spread), FIELD_HISTOGRAM, .metric = &call_metric },
	{ 0 },
};

int seek_report_timing(struct seek_report *report, const struct seek_timing *timing)
{
	struct output *out = &report->files->out;
	int ret = 0, histogram;

	if (timing && !is_of_several(report))
		record_samples(out, call_fields,
			       &(struct call_row){ report->path, timing->spread });
	if (timing)
		ret = say_walk_timing(report, timing);
	add_timing(report, timing);
	histogram = histogram_report(report->arguments->histogram ? &timing->spread : NULL, "Calls",
				     out);
	if (timing)
		counter_delta_report(&timing->counter_delta, out);
	return ret < 0 ? ret : histogram;
}

/* -- whether the kernel is slow: --verdict -- */

static const char *seek_cache_text(const struct kernel_verdict *verdict)
{
	const struct feature_status *status = &verdict->seek_cache;
	bool is_slow = verdict->seek.state == SEEK_SLOW;

	if (status->state == FEATURE_ABSENT)
		return is_slow ? "absent; it helps here, see btrfs-fastpath-kernel(7)" :
				 "absent; calls can get slow when the file is read or written";
	if (!is_slow)
		return NULL;
	if (status->state == FEATURE_UNKNOWN)
		return "unknown; see btrfs-fastpath status --measure";
	if (status->state == FEATURE_IMPROVED)
		return "improved; it does not help here";
	if (status->evidence == FEATURE_BY_LIST)
		return "present; it does not help here";
	return "present as in mainline, which stays slow if much data is not on "
	       "disk yet: sync the file, or see btrfs-fastpath-kernel(7)";
}

static void say_state(const struct output *out, const struct seek_verdict *seek)
{
	const struct quartiles *growth = &seek->growth_percent;
	char call[UNITS_TEXT_SIZE];

	format_time(call, seek->median.call_ns);
	if (!seek->sample_count)
		record_say(out, "Verdict: inconclusive: there was nothing to measure\n");
	else if (seek->sample_count < SEEK_VERDICT_SAMPLES_MIN)
		record_say(out,
			   "Verdict: inconclusive: only %" PRIu64
			   " of %d samples, since the file changed\n",
			   seek->sample_count, SEEK_VERDICT_SAMPLES);
	else if (seek->state == SEEK_FINE)
		record_say(out,
			   "Verdict: a call costs %s at any offset: the kernel is not to blame\n",
			   call);
	else if (seek->state == SEEK_SLOW)
		record_say(out,
			   "Verdict: a call costs %s, at the start of the file %.1f times as much "
			   "as at its end: the kernel is to blame\n",
			   call, growth->median / 100.0);
	else
		record_say(out,
			   "Verdict: inconclusive: a call costs %s, at the start of the file %.1f "
			   "to %.1f times as much as at its end\n",
			   call, growth->low / 100.0, growth->high / 100.0);
}

/* Whether another kernel, with seek-cache, would make the file's calls faster. */
static enum answer verdict_help(const struct kernel_verdict *verdict)
{
	enum seek_state state = verdict->seek.state;

	if (state == SEEK_INCONCLUSIVE || verdict->seek_cache.state == FEATURE_UNKNOWN)
		return ANSWER_UNKNOWN;
	if (feature_state_is_present(verdict->seek_cache.state))
		return ANSWER_NO;
	/* Without it a file that is fast can be slow after it was read or written. */
	return state == SEEK_SLOW ? ANSWER_YES : ANSWER_UNKNOWN;
}

struct verdict_row {
	struct seek_verdict seek;
	const char *state;
	/* there was something to measure; enough of it to compare */
	bool is_known;
	bool is_compared;
	const char *seek_cache;
	enum answer seek_cache_helps;
};

#define VERDICT(member) offsetof(struct verdict_row, member)

static const struct field verdict_fields[] = {
	{ VERDICT(state), FIELD_TEXT, .key = "state", .help = "The verdict." },
	{ VERDICT(seek.sample_count), FIELD_NUMBER, .key = "sample_count",
	  .help = "The number of samples." },
	{ VERDICT(seek.median.call_ns), FIELD_TIME, .key = "call_ns", .known = VERDICT(is_known),
	  .help = "What a call costs; null without a sample." },
	{ VERDICT(seek.median.start_ns), FIELD_TIME, .key = "start_call_ns",
	  .known = VERDICT(is_known),
	  .help = "What a call costs at the start of the file if its answer is its own offset; null without a sample." },
	{ VERDICT(seek.median.end_ns), FIELD_TIME, .key = "end_call_ns", .known = VERDICT(is_known),
	  .help = "The same at the end of the file." },
	{ 0, FIELD_OBJECT, .key = "growth_percent", .known = VERDICT(is_compared),
	  .help = "The cost at the start in percent of that at the end, sample by sample; null from fewer than 5 samples." },
	{ VERDICT(seek.growth_percent.low), FIELD_NUMBER, .key = "low" },
	{ VERDICT(seek.growth_percent.median), FIELD_NUMBER, .key = "median" },
	{ VERDICT(seek.growth_percent.high), FIELD_NUMBER, .key = "high" },
	{ 0, FIELD_OBJECT_END, .key = NULL },
	{ VERDICT(seek_cache), FIELD_TEXT, .key = "seek_cache",
	  .help = "Whether the kernel has the feature seek-cache." },
	{ VERDICT(seek_cache_helps), FIELD_ANSWER, .key = "seek_cache_helps",
	  .help = "Whether the calls would be faster with the feature; null if that is unknown." },
	{ 0 },
};

void seek_report_verdict(struct seek_report *report, const struct kernel_verdict *verdict)
{
	struct output *out = &report->files->out;
	struct verdict_row row;
	const char *seek_cache;

	if (!verdict) {
		record_object(out, "verdict", verdict_fields, NULL);
		return;
	}
	row = (struct verdict_row){
		.seek = verdict->seek,
		.state = seek_state_name(verdict->seek.state),
		.is_known = verdict->seek.sample_count,
		.is_compared = verdict->seek.sample_count >= SEEK_VERDICT_SAMPLES_MIN,
		.seek_cache = feature_state_name(verdict->seek_cache.state),
		.seek_cache_helps = verdict_help(verdict),
	};
	record_object(out, "verdict", verdict_fields, &row);
	say_state(out, &verdict->seek);
	seek_cache = seek_cache_text(verdict);
	if (seek_cache)
		record_say(out, "Seek-cache: %s\n", seek_cache);
}

/* -- whether it is true: --check -- */

/* The rows before a finding must not come after it. */
static void begin_finding(struct seek_report *report)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(report->path);

	rows_flush(report->summary);
	record_say(&report->files->out, "%sDisagreement%s in %s: ", terminal_alarm_begin(),
		   terminal_alarm_end(), quoted);
}

void seek_report_disagreement(struct seek_report *report, const struct seek_part *part)
{
	const struct part_row row = part_row_of(part, true);
	struct output *out = &report->files->out;
	char length[UNITS_TEXT_SIZE];

	begin_finding(report);
	record_say(out, "%s at %" PRIu64 " is %s to lseek and %s to FIEMAP\n",
		   format_size(length, part->length, out->sizes), part->offset, row.type,
		   row.extent);
	record_object(out, NULL, part_fields, &row);
}

struct nonzero_row {
	struct seek_segment hole;
	uint64_t nonzero_offset;
};

#define NONZERO(member) offsetof(struct nonzero_row, member)

static const struct field nonzero_fields[] = {
	{ NONZERO(hole.offset), FIELD_NUMBER, .key = "offset",
	  .help = "Where it begins in the file." },
	{ NONZERO(hole.length), FIELD_SIZE, .key = "length", .help = "Its length in bytes." },
	{ NONZERO(nonzero_offset), FIELD_NUMBER, .key = "nonzero_offset",
	  .help = "The offset of the first byte in it that is not zero." },
	{ 0 },
};

void seek_report_nonzero_hole(struct seek_report *report, const struct seek_segment *hole,
			      uint64_t offset)
{
	struct output *out = &report->files->out;
	char length[UNITS_TEXT_SIZE];

	begin_finding(report);
	record_say(out, "the hole of %s at %" PRIu64 " is not zero at %" PRIu64 "\n",
		   format_size(length, hole->length, out->sizes), hole->offset, offset);
	record_object(out, NULL, nonzero_fields, &(struct nonzero_row){ *hole, offset });
}

void seek_report_end_check(struct seek_report *report, enum check_kind kind, bool passed)
{
	struct output *out = &report->files->out;

	json_end_array(&out->json);
	if (passed && seek_map_wants_details(report->arguments))
		record_say(out, "Check: %s\n",
			   kind == CHECK_MAPS ? "lseek and FIEMAP agree" :
						"all holes read as zeros");
}

/* -- the end of a file, and of all -- */

#define SUMS(member) offsetof(struct seek_row, member)

static const struct field sums_fields[] = {
	{ SUMS(sums.size), FIELD_SIZE, .key = "size", .title = "Size", .metric = &size_metric,
	  .help = "The size of the file, or of the range." },
	{ SUMS(sums.data_bytes), FIELD_SIZE, .key = "data_bytes", .title = "Data",
	  .metric = &bytes_metric, .label = { "type", "data" }, .help = "The bytes of data." },
	{ SUMS(sums.hole_bytes), FIELD_SIZE, .key = "hole_bytes", .title = "Hole",
	  .metric = &bytes_metric, .label = { "type", "hole" }, .help = "The bytes of holes." },
	{ SUMS(sums.segment_count), FIELD_NUMBER, .key = "segment_count", .title = "Segments",
	  .metric = &segments_metric, .help = "The number of segments." },
	{ SUMS(sums.calls), FIELD_NUMBER, .key = "calls", .help = "The number of lseek calls." },
	{ SUMS(path), FIELD_PATH, .title = "Path", .unknown = "total", .label.name = "path" },
	{ 0 },
};

static const struct field count_fields[] = {
	{ 0, FIELD_NUMBER, .metric = &files_metric },
	{ 0 },
};

static int report_seek_row(struct seek_report *report, const struct seek_row *row)
{
	int ret = rows_begin_or_add(&report->summary, &report->files->out, sums_fields, 0, row);

	/* It stands below the details of the file. */
	return ret == 0 && seek_map_wants_details(report->arguments) ? rows_end(&report->summary) :
								       ret;
}

int seek_report_sums(struct seek_report *report, const struct seek_sums *sums)
{
	const struct seek_row row = { report->path, *sums };
	struct output *out = &report->files->out;

	record_add(&report->total, sums_fields, &row);
	record_members(out, sums_fields, &row);
	/* A sample for each of a million files would be of no use. */
	if (!is_of_several(report))
		record_samples(out, sums_fields, &row);
	return report_seek_row(report, &row);
}

void seek_report_end_file(struct seek_report *report, int error)
{
	rows_end(&report->rows);
	file_maps_end_file(&report->maps);
	report->path = NULL;
	files_end_result(report->files, error);
}

int seek_report_total(struct seek_report *report)
{
	struct output *out = &report->files->out;
	int ret = 0, ended;

	files_begin_json_total(report->files);
	record_members(out, sums_fields, &report->total);
	files_end_json_total(report->files);
	if (is_of_several(report)) {
		record_samples(out, count_fields, &report->files->file_count);
		record_samples(out, sums_fields, &report->total);
	}
	if (is_of_several(report) && report->files->file_count != 1) {
		if (seek_map_wants_details(report->arguments))
			record_say(out, "\n");
		ret = report_seek_row(report, &report->total);
	}
	ended = rows_end(&report->summary);
	return ret < 0 ? ret : ended;
}

void seek_report_close(struct seek_report *report)
{
	file_maps_free(&report->maps);
	rows_end(&report->summary);
}
