/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_METRICS_H
#define FASTPATH_LOG_STATS_METRICS_H

#include <stdint.h>

#include "base/latency.h"
#include "fs/commit-counters.h"
#include "ui/metrics.h"

/* The fsyncs in DIRECTORY: how long they took, and how many committed what. */
void log_stats_metrics(struct metrics *metrics, const char *directory,
		       const struct latency *latency, const uint64_t counts[FSYNC_KINDS]);

#endif
