/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_BATCH_H
#define FASTPATH_FIEMAP_SHARED_BATCH_H

#include "fiemap-shared.h"

/*
 * Reports the files that WALK finds, without details, and maps several files at the same time.
 * SCAN is a struct scan. Returns as file_walk_next(), or a negative errno as pipeline_new().
 */
int fiemap_shared_summarize(void *scan, struct file_walk *walk);

#endif
