/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_KERNEL_METRICS_H
#define FASTPATH_KERNEL_METRICS_H

#include "fs/commit-counters.h"
#include "fs/counters.h"
#include "fs/filesystem.h"
#include "probe/feature-status.h"
#include "ui/record.h"

/* OpenMetrics: which features the kernel RELEASE has. */
void kernel_metrics_features(struct output *out, const char *release,
			     const struct feature_status statuses[FEATURE_COUNT]);

/* What the kernel counted on the file system FSID since its mount: shortcuts and slow paths. */
void kernel_metrics_counters(struct output *out, const uint8_t fsid[FSID_SIZE],
			     const struct counters *counters);

/* Its commits, as far as they are known. */
void kernel_metrics_commits(struct output *out, const uint8_t fsid[FSID_SIZE],
			    const struct commit_counters *counters);

#endif
