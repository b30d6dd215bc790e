/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_PLOT_H
#define FASTPATH_LOG_STATS_PLOT_H

#include "fs/commit-counters.h"
#include "fsync/fsync-exercise.h"
#include "num/binned-series.h"
#include "ui/plot.h"

/* The time of each fsync by the number of files that the directory had, or of writes. */
struct log_stats_plot {
	struct plot plot;
	struct binned_series kinds[FSYNC_KINDS];
};

/* Add an fsync, if a plot is open. */
void log_stats_plot_add(struct log_stats_plot *plot, enum fsync_kind kind, uint64_t files,
			uint64_t nanoseconds);

/* Draw the fsyncs in DIRECTORY, if a plot is open. Returns 0, or -1 after printing an error. */
int log_stats_plot_finish(struct log_stats_plot *plot, const char *directory,
			  enum fsync_workload workload);

#endif
