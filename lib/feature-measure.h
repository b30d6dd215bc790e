/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_MEASURE_H
#define FASTPATH_FEATURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "feature-status.h"
#include "interrupts.h"

/* What a feature makes cheap, and what costs the same without it, on the same machine. */
struct feature_cost {
	uint64_t cost_ns;
	uint64_t reference_ns;
};

/* How to see a feature at work. */
struct feature_probe {
	/*
	 * Does a small run in DIRECTORY_FD, on btrfs, and leaves nothing behind. Returns 0, -EINTR
	 * after a signal that INTERRUPTS holds, or a negative errno. NULL: nobody can tell.
	 */
	int (*measure)(int directory_fd, struct interrupts *interrupts,
		       struct feature_cost *ret_cost);
	/* what is compared with what, or why there is nothing to measure */
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
