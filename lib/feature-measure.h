/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_MEASURE_H
#define FASTPATH_FEATURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "feature-probe.h"
#include "feature-status.h"

/* How to see a feature at work. */
struct feature_probe {
	feature_probe_run *run;
	/* it mounts an image */
	bool needs_root;
	/* of both costs */
	const char *unit;
	/* what is compared with what */
	const char *what;
	/* Of the cost in percent of the reference: what is between was seen with neither. */
	unsigned int present_below;
	unsigned int absent_above;
};

extern const struct feature_probe feature_probes[FEATURE_COUNT];

/* Whether the processor's time is told finely enough; some virtual machines tell it in ticks. */
bool feature_clock_is_fine(void);

/* The cost in percent of the reference. */
uint64_t feature_cost_percent(const struct feature_cost *cost);

/* FEATURE_UNKNOWN is unclear. */
enum feature_state feature_cost_judge(const struct feature_probe *probe,
				      const struct feature_cost *cost);

#endif
