// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "log-stats-plot.h"

void log_stats_plot_add(struct log_stats_plot *plot, enum fsync_kind kind, uint64_t files,
			uint64_t nanoseconds)
{
	if (plot->plot.path)
		binned_series_add(&plot->kinds[kind], files, nanoseconds);
}

/* Colours that colour-blind readers can distinguish. */
static const struct look {
	const char *points;
	const char *ranges;
} looks[FSYNC_KINDS] = {
	[FSYNC_LOG] = { "#0072b2", "#a6cee3" },
	[FSYNC_FULL] = { "#d55e00", "#f7c59f" },
	[FSYNC_UNCERTAIN] = { "#666666", "#cccccc" },
};

static uint64_t count_samples(const struct binned_series *series)
{
	uint64_t count = 0;

	for (size_t i = 0; i < series->bin_count; i++)
		count += series->bins[i].count;
	return count;
}

static void add_fsyncs(FILE *script, const struct binned_series *series, enum fsync_kind kind)
{
	fprintf(script, "$kind%d << EOD\n", kind);
	for (size_t i = 0; i < series->bin_count; i++) {
		const struct series_bin *bin = &series->bins[i];

		fprintf(script, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", bin->position,
			series_bin_mean(bin), bin->min, bin->max);
	}
	fputs("EOD\n", script);
}

static void add_ranges(FILE *script, enum fsync_kind kind, const char **separator)
{
	fprintf(script, "%s $kind%d using 1:($3/1e6):(0):(($4-$3)/1e6) with vectors nohead ",
		*separator, kind);
	fprintf(script, "lc rgb '%s' notitle", looks[kind].ranges);
	*separator = ",";
}

/* A point is one fsync, or the mean of several. */
static void add_points(FILE *script, const struct binned_series *series, enum fsync_kind kind,
		       const char **separator)
{
	uint64_t several = binned_series_bin_size(series);
	uint64_t count = count_samples(series);

	fprintf(script, "%s $kind%d using 1:($2/1e6) with points pt 7 ps 0.4 lc rgb '%s' ",
		*separator, kind, looks[kind].points);
	fprintf(script, "title '%s: %" PRIu64 " fsync%s", fsync_kind_name(kind), count,
		count == 1 ? "" : "s");
	if (several > 1)
		fprintf(script, "; a point is the mean of %" PRIu64 ", a line their range",
			several);
	fputc('\'', script);
	*separator = ",";
}

/* Ranges first, so that they hide no points. */
static void add_curves(FILE *script, const struct log_stats_plot *plot)
{
	const char *separator = "plot";

	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		if (plot->kinds[kind].bin_count && plot->kinds[kind].samples_log2)
			add_ranges(script, kind, &separator);
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		if (plot->kinds[kind].bin_count)
			add_points(script, &plot->kinds[kind], kind, &separator);
	fputc('\n', script);
}

static void add_axes(FILE *script, enum fsync_workload workload)
{
	if (workload == FSYNC_DIRECTORY)
		fputs("\nset xlabel 'Files in the directory'\n", script);
	else
		fprintf(script, "\nset xlabel 'Number of %s (%s)'\n",
			fsync_workload_operations(workload), fsync_workload_name(workload));
}

static void write_fsync_script(struct log_stats_plot *plot, const char *directory,
			       enum fsync_workload workload)
{
	FILE *script = plot->plot.script;

	fputs("set title ", script);
	plot_add_name(&plot->plot,
		      workload == FSYNC_DIRECTORY ? "fsyncs of a growing directory in " :
						    "fsyncs of a file in ",
		      directory);
	add_axes(script, workload);
	fputs("set ylabel 'Time of an fsync, in ms'\n"
	      "set logscale y\n"
	      "set format y '%g'\n"
	      "set xrange [0:*]\n"
	      "set grid lc rgb '#dddddd'\n"
	      "set border 3\n"
	      "set tics nomirror\n"
	      "set pointintervalbox 0\n"
	      "set key above left maxcols 1 reverse Left samplen 1\n",
	      script);
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		add_fsyncs(script, &plot->kinds[kind], kind);
	add_curves(script, plot);
}

static bool has_samples(const struct log_stats_plot *plot)
{
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		if (plot->kinds[kind].bin_count)
			return true;
	return false;
}

int log_stats_plot_finish(struct log_stats_plot *plot, const char *directory,
			  enum fsync_workload workload)
{
	if (!plot->plot.path || !has_samples(plot)) {
		plot_discard(&plot->plot);
		return 0;
	}
	write_fsync_script(plot, directory, workload);
	return plot_finish(&plot->plot);
}
