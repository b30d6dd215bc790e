// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "feature-measure.h"
#include "least-time.h"
#include "mul-div.h"

/* A tick is 1 ms at least. */
#define COARSEST_STEP_NS 100000

/* The bounds are for what was measured; btrfs-fastpath-status(8) has the figures. */
const struct feature_probe feature_probes[FEATURE_COUNT] = {
	[FEATURE_FIEMAP_LEAF] = {
		.run = probe_fiemap_leaf,
		.unit = "ns",
		.what = "whether extents are shared, against mapping them",
		.present_below = 400,
		.absent_above = 800,
	},
	[FEATURE_SEEK_CACHE] = {
		.run = probe_seek_cache,
		.unit = "ns",
		.what = "seeks before and after holes were read, the slower against the faster",
		.present_below = 200,
		.absent_above = 400,
	},
	[FEATURE_LOG_DIR] = {
		.run = probe_log_dir,
		.unit = "ns",
		.what = "the last fsyncs of a growing directory, against the first",
		.present_below = 300,
		.absent_above = 500,
	},
	[FEATURE_SEND_READA] = {
		.run = probe_send_reada,
		.needs_root = true,
		.unit = "bytes",
		.what = "reads left behind a leaf in memory, against those elsewhere",
		.present_below = 20,
		.absent_above = 30,
	},
	[FEATURE_NOCOW_CSUM] = {
		.run = probe_nocow_csum,
		.needs_root = true,
		.unit = "ns",
		.what = "whether 32 MiB have checksums, against 64 KiB",
		.present_below = 150,
		.absent_above = 200,
	},
};

bool feature_clock_is_fine(void)
{
	return least_time_step() <= COARSEST_STEP_NS;
}

uint64_t feature_cost_percent(const struct feature_cost *cost)
{
	return cost->reference ? mul_div(cost->cost, 100, cost->reference) : 0;
}

enum feature_state feature_cost_judge(const struct feature_probe *probe,
				      const struct feature_cost *cost)
{
	uint64_t percent = feature_cost_percent(cost);

	if (!cost->reference)
		return FEATURE_UNKNOWN;
	if (percent < probe->present_below)
		return FEATURE_PRESENT;
	return percent > probe->absent_above ? FEATURE_ABSENT : FEATURE_UNKNOWN;
}
