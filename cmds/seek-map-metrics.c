// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "seek-map-report.h"

static const struct metric files_metric = {
	.name = "btrfs_fastpath_seek_files",
	.type = METRIC_GAUGE,
	.help = "Files that were examined, if several were asked for.",
};

static const struct metric size_metric = {
	.name = "btrfs_fastpath_seek_file_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Size of the file, or of all files.",
};

static const struct metric bytes_metric = {
	.name = "btrfs_fastpath_seek_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Bytes of the file, or of all files, that lseek takes for data or for holes.",
};

static const struct metric segments_metric = {
	.name = "btrfs_fastpath_seek_segments",
	.type = METRIC_GAUGE,
	.help = "Segments of data or holes in the file, or in all files.",
};

static const struct metric call_metric = {
	.name = "btrfs_fastpath_seek_call_seconds",
	.type = METRIC_HISTOGRAM,
	.unit = "seconds",
	.help = "How long calls of lseek took in warm walks over the file.",
};

static const struct metric walk_metric = {
	.name = "btrfs_fastpath_seek_walk_seconds",
	.type = METRIC_GAUGE,
	.unit = "seconds",
	.help = "How long all calls of a walk over the file took: cold, warm, or with a new descriptor each.",
};

static int open_report(struct report *report)
{
	(void)report;
	return 0;
}

static void nothing(struct report *report)
{
	(void)report;
}

static int begin_file(struct report *report, const char *path, uint64_t size)
{
	(void)size;
	report->path = path;
	return 0;
}

/* The segments of a file are no metrics. */
static int skip_segment(struct report *report, const struct part *part)
{
	(void)report;
	(void)part;
	return 0;
}

static int end_segments(struct report *report)
{
	(void)report;
	return 0;
}

static void skip_changed(struct report *report, bool changed)
{
	(void)report;
	(void)changed;
}

static void skip_calls(struct report *report, uint64_t calls)
{
	(void)report;
	(void)calls;
}

static void skip_verdict(struct report *report, const struct verdict *verdict)
{
	(void)report;
	(void)verdict;
}

static void skip_counters(struct report *report, const struct counter_delta *delta)
{
	(void)report;
	(void)delta;
}

static void skip_check(struct report *report, enum check_kind kind)
{
	(void)report;
	(void)kind;
}

/* A sample for each of a million files is of no use. */
static bool is_of_several(const struct report *report)
{
	return file_options_ask_for_several(&report->arguments->files);
}

static void add_walk(struct report *report, const char *walk, const struct latency_figures *figures)
{
	const struct metric_label labels[] = {
		{ "path", report->path },
		{ "walk", walk },
		{ NULL, NULL },
	};

	metrics_add_ns(report->arguments->global->metrics, &walk_metric, labels, figures->total);
}

static int add_timing(struct report *report, const struct timing *timing)
{
	static const char *const walks[WALK_COUNT] = {
		[WALK_COLD] = "cold",
		[WALK_WARM] = "warm",
		[WALK_REOPENED] = "reopened",
	};
	const struct metric_label labels[] = { { "path", report->path }, { NULL, NULL } };

	if (!timing || is_of_several(report))
		return 0;
	metrics_add_histogram(report->arguments->global->metrics, &call_metric, labels,
			      &timing->spread);
	for (int i = 0; i < WALK_COUNT; i++)
		if (timing->measured[i])
			add_walk(report, walks[i], &timing->figures[i]);
	return 0;
}

static void add_bytes(struct report *report, const struct metric_label *path, const char *type,
		      uint64_t bytes)
{
	const struct metric_label labels[] = { { "type", type }, *path, { NULL, NULL } };

	metrics_add(report->arguments->global->metrics, &bytes_metric, labels, bytes);
}

/* The name of PATH is NULL for the total. */
static void add_figures(struct report *report, const struct metric_label *path,
			const struct sums *sums)
{
	const struct metric_label labels[] = { *path, { NULL, NULL } };
	struct metrics *metrics = report->arguments->global->metrics;

	metrics_add(metrics, &size_metric, labels, sums->size);
	add_bytes(report, path, "data", sums->data_bytes);
	add_bytes(report, path, "hole", sums->hole_bytes);
	metrics_add(metrics, &segments_metric, labels, sums->segment_count);
}

static int add_sums(struct report *report, const char *path, const struct sums *sums)
{
	const struct metric_label label = { "path", path };

	if (!is_of_several(report))
		add_figures(report, &label, sums);
	return 0;
}

static void skip_failure(struct report *report, int ret)
{
	(void)report;
	(void)ret;
}

static int add_total(struct report *report, const struct sums *total)
{
	const struct metric_label none = { NULL, NULL };

	if (!is_of_several(report))
		return 0;
	metrics_add(report->arguments->global->metrics, &files_metric, NULL,
		    report->files->file_count);
	add_figures(report, &none, total);
	return 0;
}

const struct report_ops seek_map_metrics = {
	.open = open_report,
	.close = nothing,
	.begin_file = begin_file,
	.segment = skip_segment,
	.end_segments = end_segments,
	.changed = skip_changed,
	.calls = skip_calls,
	.timing = add_timing,
	.verdict = skip_verdict,
	.counters = skip_counters,
	.no_check = skip_check,
	.map = nothing,
	.sums = add_sums,
	.failed = skip_failure,
	.end_file = nothing,
	.total = add_total,
};
