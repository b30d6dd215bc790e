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
struct seek_scan {
	const struct seek_options *arguments;
	struct files files;
	struct seek_report report;
	/* reused for each file */
	struct fiemap_iter *iter;
	/* with --check: looks again at differences */
	struct fiemap_iter *second_iter;
	struct seek_timing *timing;
	/* with --verdict: whether the kernel has this feature */
	struct feature_status seek_cache;
};

/* The state for one file. */
struct seek_details {
	struct seek_scan *scan;
	struct seek_report *report;
	const char *path;
	int fd;
	uint64_t size;
	/* the part that --range selects, cut at the end of the file */
	struct byte_range range;
	struct seek_sums sums;
	bool changed;
	/* with --fiemap */
	struct kind_walk kinds;
	/* with --verdict */
	struct kernel_verdict verdict;
};

/*
 * --check: reports where lseek and FIEMAP disagree about the file; --check=data also reports holes
 * that do not read as zeros. A difference sets the exit status. Returns 0 or a negative errno.
 */
int seek_map_report_check(struct seek_details *details);

/* Starts a walk over this range of the file. */
void seek_map_start_walk(const struct seek_details *details, struct seek_iter *iter);

typedef int part_function(void *data, const struct seek_part *part);

/*
 * Calls FUNCTION for each part of SEGMENT that is of one kind. Returns 0, a negative errno as
 * kind_walk_at(), or what FUNCTION returned below 0.
 */
int seek_map_split_segment(struct kind_walk *kinds, const struct seek_segment *segment,
			   part_function *function, void *data);

/* To be called for each segment: shows now and then how many segments were found. */
void seek_map_show_progress(const struct seek_details *details, uint64_t segment_count);

/* Warns if the file changed during the walk. */
void seek_map_warn_if_changed(const struct seek_details *details);

#endif
