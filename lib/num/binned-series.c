// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>

#include "num/binned-series.h"
#include "num/saturating.h"

static void append(struct series_bin *bin, const struct series_bin *next)
{
	bin->position = next->position;
	bin->count += next->count;
	if (next->min < bin->min)
		bin->min = next->min;
	if (next->max > bin->max)
		bin->max = next->max;
	bin->total = saturating_add(bin->total, next->total);
}

static void halve(struct binned_series *series)
{
	for (size_t i = 0; i < SERIES_BINS_MAX / 2; i++) {
		series->bins[i] = series->bins[2 * i];
		append(&series->bins[i], &series->bins[2 * i + 1]);
	}
	series->bin_count = SERIES_BINS_MAX / 2;
	series->samples_log2++;
}

uint64_t binned_series_bin_size(const struct binned_series *series)
{
	return UINT64_C(1) << series->samples_log2;
}

static bool last_is_full(const struct binned_series *series)
{
	return series->bin_count == 0 ||
	       series->bins[series->bin_count - 1].count == binned_series_bin_size(series);
}

void binned_series_add(struct binned_series *series, uint64_t position, uint64_t value)
{
	const struct series_bin sample = { position, 1, value, value, value };

	if (last_is_full(series) && series->bin_count == SERIES_BINS_MAX)
		halve(series);
	if (last_is_full(series))
		series->bins[series->bin_count++] = sample;
	else
		append(&series->bins[series->bin_count - 1], &sample);
}

uint64_t series_bin_mean(const struct series_bin *bin)
{
	return bin->total / bin->count;
}
