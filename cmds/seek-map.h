/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_H
#define FASTPATH_SEEK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fiemap.h"
#include "probe/feature-status.h"
#include "seek-map-report.h"
#include "seek/extent-kind.h"
#include "seek/seek-iter.h"

/* The state of a run. */
struct scan {
	const struct arguments *arguments;
	struct file_report files;
	struct report report;
	struct sums total;
	/* reused for each file */
	struct fiemap_iter *iter;
	/* with --check: looks again at differences */
	struct fiemap_iter *second_iter;
	struct timing *timing;
	/* with --verdict: whether the kernel has this feature */
	struct feature_status seek_cache;
};

/* The state for one file. */
struct details {
	struct scan *scan;
	struct report *report;
	const char *path;
	int fd;
	uint64_t size;
	/* the part that --range selects, cut at the end of the file */
	struct byte_range range;
	struct sums sums;
	bool changed;
	/* with --fiemap */
	struct kind_walk kinds;
	/* with --verdict */
	struct verdict verdict;
};

/* Starts a walk over this range of the file. */
void seek_map_start_walk(const struct details *details, struct seek_iter *iter);

typedef int part_function(void *data, const struct part *part);

/*
 * Calls FUNCTION for each part of SEGMENT that is of one kind. Returns 0, a negative errno as
 * kind_walk_at(), or what FUNCTION returned below 0.
 */
int seek_map_split_segment(struct kind_walk *kinds, const struct seek_segment *segment,
			   part_function *function, void *data);

/* To be called for each segment: shows now and then how many segments were found. */
void seek_map_show_progress(const struct details *details, uint64_t segment_count);

/* Warns if the file changed during the walk. */
void seek_map_warn_if_changed(const struct details *details);

#endif
