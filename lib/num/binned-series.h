/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BINNED_SERIES_H
#define FASTPATH_BINNED_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SERIES_BINS_MAX 1024

/* Samples that follow each other. */
struct series_bin {
	/* of the last sample */
	uint64_t position;
	uint64_t count;
	uint64_t min;
	uint64_t max;
	uint64_t total;
};

/*
 * A series of any length in constant memory: bins with equally many samples, but for the last one.
 * When all bins are full, each two neighbours become one. A zeroed struct is an empty series.
 */
struct binned_series {
	struct series_bin bins[SERIES_BINS_MAX];
	size_t bin_count;
	/* of a full bin is 2 to this power */
	unsigned int samples_log2;
};

/* Add a sample. Totals saturate. */
void binned_series_add(struct binned_series *series, uint64_t position, uint64_t value);

/* How many samples a full bin has. */
uint64_t binned_series_bin_size(const struct binned_series *series);

/* BIN has at least one sample. */
uint64_t series_bin_mean(const struct series_bin *bin);

#endif
