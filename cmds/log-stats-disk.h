/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_DISK_H
#define FASTPATH_LOG_STATS_DISK_H

#include "fsync/disk-flush.h"
#include "fsync/fsync-exercise.h"
#include "ui/record.h"

/* What the disk needs without btrfs, measured between the fsyncs. With all members 0 nothing is measured. */
struct disk_measure {
	struct disk_flush *flush;
	struct latency latency;
	/* why nothing was measured, or not to the end */
	int error;
};

/* Freed with disk_measure_end(). */
void disk_measure_begin(struct disk_measure *disk, const struct fsync_exercise *exercise);
void disk_measure_end(struct disk_measure *disk);

/* After an fsync. The exercise does not count the time. */
void disk_measure_next(struct disk_measure *disk, struct fsync_exercise *exercise);

/* Prints which part of the fsyncs took how long. */
void disk_measure_report(const struct disk_measure *disk, const struct fsync_exercise *exercise,
			 struct output *out, const char *path, const char *workload);

#endif
