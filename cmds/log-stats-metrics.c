// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stddef.h>

#include "log-stats-metrics.h"

static const struct metric fsync_metric = {
	.name = "btrfs_fastpath_fsync_seconds",
	.type = METRIC_HISTOGRAM,
	.unit = "seconds",
	.help = "How long the fsyncs of a growing directory took in one run.",
};

static const struct metric kinds_metric = {
	.name = "btrfs_fastpath_fsyncs",
	.type = METRIC_GAUGE,
	.help = "Fsyncs of this run that wrote the log, or committed the whole transaction.",
};

void log_stats_metrics(struct metrics *metrics, const char *directory,
		       const struct latency *latency, const uint64_t counts[FSYNC_KINDS])
{
	const struct metric_label labels[] = { { "path", directory }, { NULL, NULL } };

	metrics_add_histogram(metrics, &fsync_metric, labels, latency);
	for (int kind = 0; kind < FSYNC_KINDS; kind++) {
		const struct metric_label kind_labels[] = {
			{ "path", directory },
			{ "commit", fsync_kind_name(kind) },
			{ NULL, NULL },
		};

		metrics_add(metrics, &kinds_metric, kind_labels, counts[kind]);
	}
}
