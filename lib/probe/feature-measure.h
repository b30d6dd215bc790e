/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_MEASURE_H
#define FASTPATH_FEATURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/feature-probe.h"
#include "probe/feature-status.h"

/* How a feature is measured. */
struct feature_probe {
	/* one of the two is not NULL */
	feature_probe_run *run;
	feature_probe_run_on_image *run_on_image;
	/* of the cost and the reference */
	const char *unit;
	/* a text that says what is compared */
	const char *what;
	/* bounds of the cost in percent of the reference; a cost between them is unclear */
	uint64_t present_below;
	uint64_t absent_above;
	/*
	 * A second comparison, in the same unit, which distinguishes "improved" from
	 * "present"; NULL if there is none. Below the bound the feature is improved.
	 */
	feature_probe_run *run_improved;
	const char *what_improved;
	uint64_t improved_below;
};

/* What a feature's comparisons gave. */
struct feature_costs {
	struct feature_cost feature;
	/* of the second comparison, whose reference is 0 where it was not made */
	struct feature_cost improvement;
};

extern const struct feature_probe feature_probes[FEATURE_COUNT];

/* Whether CPU time is counted finely enough; some virtual machines count it in ticks. */
bool feature_clock_is_fine(void);

/* Whether it mounts an image, which needs root. */
bool feature_probe_needs_root(const struct feature_probe *probe);

/*
 * Measure by PROBE on the file system of DIRECTORY_FD, on btrfs. The directory can belong to any
 * user. Root measures in an image there that has no name (probe-image.h), other users in a folder
 * that only they can enter (probe-folder.h). If root cannot create an image it also uses a folder,
 * but only in a directory in which no other user can replace the folder.
 * Returns 0, -EINTR after a signal that INTERRUPTS holds, -EPERM if the probe needs an image and
 * the user is not root, or a negative errno as probe_image_new() and probe_folder_new().
 * The second comparison is made only if the first one shows that the feature is present.
 * RET_FAILURE tells which step failed.
 */
int feature_measure(const struct feature_probe *probe, int directory_fd,
		    struct interrupts *interrupts, struct feature_costs *ret_costs,
		    struct probe_failure *ret_failure);

/* The cost in percent of the reference. */
uint64_t feature_cost_percent(const struct feature_cost *cost);

/* The state that the first comparison's COST shows; FEATURE_UNKNOWN if it is unclear. */
enum feature_state feature_cost_judge(const struct feature_probe *probe,
				      const struct feature_cost *cost);

/* The state that both comparisons show together. */
enum feature_state feature_costs_judge(const struct feature_probe *probe,
				       const struct feature_costs *costs);

#endif
