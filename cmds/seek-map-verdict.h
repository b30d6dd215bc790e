/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_VERDICT_H
#define FASTPATH_SEEK_MAP_VERDICT_H

#include "seek-map.h"

/* --verdict: which features the kernel has. To be called once, before the first file. */
void seek_map_prepare_verdict(struct scan *scan);

/*
 * --verdict: takes samples of the whole file, and judges by them. An empty file has no samples.
 * Returns 0 or a negative errno as seek_sample_take().
 */
int seek_map_judge(struct details *details);

#endif
