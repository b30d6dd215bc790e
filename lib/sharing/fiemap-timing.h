/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_TIMING_H
#define FASTPATH_FIEMAP_TIMING_H

#include <stdint.h>

#include "fs/fiemap.h"

/* What FIEMAP costs for a file whose metadata is cached. */
struct fiemap_timing {
	/* mapping alone: a call with no room for extents, which skips the shared check */
	uint64_t map_ns;
	/* what a call for every extent costs on top of it */
	uint64_t shared_check_ns;
};

/*
 * Map RANGE of FD once and measure how long that takes. Errors as fiemap_iter_next().
 */
int fiemap_timing_once(struct fiemap_iter *iter, int fd, struct byte_range range, uint64_t *ret_ns);

/*
 * Measure both ways in turn, several times unless one takes seconds, and take the medians.
 * Errors as fiemap_iter_next().
 */
int fiemap_timing_measure(struct fiemap_iter *iter, int fd, struct byte_range range,
			  struct fiemap_timing *ret_timing);

#endif
