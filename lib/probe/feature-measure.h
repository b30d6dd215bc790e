/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FEATURE_MEASURE_H
#define FASTPATH_FEATURE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/feature-probe.h"
#include "probe/feature-status.h"

/* How to see a feature at work. */
struct feature_probe {
	/* one of both */
	feature_probe_run *run;
	feature_probe_run_on_image *run_on_image;
	/* of both costs */
	const char *unit;
	/* what is compared with what */
	const char *what;
	/* Of the cost in percent of the reference: what is between was seen with neither. */
	unsigned int present_below;
	unsigned int absent_above;
};

extern const struct feature_probe feature_probes[FEATURE_COUNT];

/* Whether CPU time is counted finely enough; some virtual machines count it in ticks. */
bool feature_clock_is_fine(void);

/* Whether it mounts an image, which needs root. */
bool feature_probe_needs_root(const struct feature_probe *probe);

/*
 * Measure by PROBE on the file system of DIRECTORY_FD, on btrfs, whoever that directory belongs to.
 * Root measures in an image that has no name there (probe-image.h), others in a folder that they
 * alone may enter (probe-folder.h). Root does so, too, where images cannot be made, but only in a
 * directory in which nobody else can replace what it makes.
 * Returns 0, -EINTR after a signal that INTERRUPTS holds, -EPERM for an image without root, or a
 * negative errno as probe_image_new() and probe_folder_new(); RET_FAILURE says what failed.
 */
int feature_measure(const struct feature_probe *probe, int directory_fd,
		    struct interrupts *interrupts, struct feature_cost *ret_cost,
		    struct probe_failure *ret_failure);

/* The cost in percent of the reference. */
uint64_t feature_cost_percent(const struct feature_cost *cost);

/* FEATURE_UNKNOWN is unclear. */
enum feature_state feature_cost_judge(const struct feature_probe *probe,
				      const struct feature_cost *cost);

#endif
