/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_VERDICT_H
#define FASTPATH_SEEK_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#include "num/quartiles.h"
#include "seek/seek-sample.h"

#define SEEK_VERDICT_SAMPLES 9
/* Fewer samples show no growth. */
#define SEEK_VERDICT_SAMPLES_MIN 5

enum seek_state {
	/* the samples are too few, contradict each other, or are between the bounds */
	SEEK_INCONCLUSIVE,
	/* a call does not cost more if more of the file comes after it */
	SEEK_FINE,
	/* it does: the kernel is to blame */
	SEEK_SLOW,
};

/* "inconclusive", "fine" or "slow" */
const char *seek_state_name(enum seek_state state);

struct seek_verdict {
	enum seek_state state;
	uint64_t sample_count;
	/* medians; 0 without samples */
	struct seek_sample median;
	/* a call at the start of the file in percent of one at its end, sample by sample */
	struct quartiles growth_percent;
};

/* Judge by COUNT SAMPLES, at most SEEK_VERDICT_SAMPLES, that were taken of a file. */
struct seek_verdict seek_verdict_of(const struct seek_sample *samples, size_t count);

#endif
