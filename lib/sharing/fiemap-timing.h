/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_TIMING_H
#define FASTPATH_FIEMAP_TIMING_H

#include <stdint.h>

#include "fs/fiemap.h"

/* The time of FIEMAP for a file whose metadata is cached. */
struct fiemap_timing {
	/* only mapping: a call with no room for extents, which skips the shared check */
	uint64_t map_ns;
	/* the additional time of calls that return the extents */
	uint64_t shared_check_ns;
};

/*
 * Map RANGE of FD once and measure the time. Errors as fiemap_iter_next().
 */
int fiemap_timing_once(struct fiemap_iter *iter, int fd, struct byte_range range, uint64_t *ret_ns);

/*
 * Measure both alternately, several times unless that takes seconds, and return the medians.
 * Errors as fiemap_iter_next().
 */
int fiemap_timing_measure(struct fiemap_iter *iter, int fd, struct byte_range range,
			  struct fiemap_timing *ret_timing);

#endif
