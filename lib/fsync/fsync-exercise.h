/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FSYNC_EXERCISE_H
#define FASTPATH_FSYNC_EXERCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/commit-counters.h"
#include "fsync/fsync-folder.h"
#include "num/latency.h"
#include "num/trend.h"
#include "sys/interrupts.h"

/* What is done again and again before an fsync. */
enum fsync_workload {
	/* an empty file is made in a directory, whose fsync follows */
	FSYNC_DIRECTORY,
	/* a block is appended to a file, as to a log */
	FSYNC_APPEND,
	/* one of FSYNC_BLOCKS blocks of a file is overwritten, as in a database */
	FSYNC_OVERWRITE,
	/* a file is replaced by a new one: fsync of the new file, rename, fsync of the directory */
	FSYNC_RENAME,
};

#define FSYNC_WORKLOADS 4
#define FSYNC_BLOCKS 1024

/* "directory", … */
const char *fsync_workload_name(enum fsync_workload workload);

/* Its operations make files, and no writes to one file. */
static inline bool fsync_workload_makes_files(enum fsync_workload workload)
{
	return workload == FSYNC_DIRECTORY || workload == FSYNC_RENAME;
}

/* What happens before an fsync: "files" or "writes". */
static inline const char *fsync_workload_operations(enum fsync_workload workload)
{
	return fsync_workload_makes_files(workload) ? "files" : "writes";
}

struct fsync_plan {
	enum fsync_workload workload;
	/* the number of operations, and of those from one fsync to the next: at least 1; 1 with FSYNC_RENAME */
	uint64_t operations;
	uint64_t every;
	/* the bytes of a block, or of a file that replaces another; not with FSYNC_DIRECTORY */
	uint64_t size;
	/* files with data are NOCOW; else they have the flags of their directory */
	bool nocow;
	/* after each fsync but the last */
	uint64_t pause_ns;
	bool commits_between;
};

/* An fsync; with FSYNC_RENAME the two of a file that is replaced. */
struct fsync_sample {
	/* those so far */
	uint64_t operations;
	uint64_t duration_ns;
	enum fsync_kind kind;
};

struct fsync_kind_sums {
	uint64_t count;
	uint64_t total_ns;
	uint64_t max_ns;
};

/*
 * A workload in a folder, with an fsync now and then, and the figures so far. It is large. Begins
 * with a folder that the caller makes and removes, a plan, and the other members 0.
 */
struct fsync_exercise {
	struct fsync_folder folder;
	struct fsync_plan plan;
	/* the operations so far */
	uint64_t done;
	/* the file with data, valid with DATA, and the bytes of a block; NULL without */
	int data_fd;
	char *data;
	uint64_t random;
	struct latency latency;
	struct trend trend;
	struct fsync_kind_sums kinds[FSYNC_KINDS];
	/* before the first file and after the last fsync */
	struct commit_counters begin;
	struct commit_counters end;
	uint64_t started_at;
	uint64_t elapsed_ns;
	struct generation_offset generation_offset;
	/* what failed last */
	enum fsync_step {
		FSYNC_STEP_EXAMINE,
		FSYNC_STEP_CREATE,
		FSYNC_STEP_WRITE,
		FSYNC_STEP_RENAME,
		FSYNC_STEP_SYNC,
		FSYNC_STEP_COMMIT,
	} step;
};

/*
 * Make the file that the workload writes, until a signal comes, which does not fail. Returns 0, or a
 * negative errno of STEP. Freed with fsync_exercise_free(), also after an error.
 */
int fsync_exercise_prepare(struct fsync_exercise *exercise, struct interrupts *interrupts);
void fsync_exercise_free(struct fsync_exercise *exercise);

/* Returns 0, or a negative errno as commit_counters_read(). Then the exercise cannot go on. */
int fsync_exercise_begin(struct fsync_exercise *exercise);

bool fsync_exercise_is_done(const struct fsync_exercise *exercise);

/*
 * Do the next operation, and the fsync if it is due. Returns 1 with the fsync, 0 without one, or a
 * negative errno of STEP.
 */
int fsync_exercise_next(struct fsync_exercise *exercise, struct fsync_sample *ret_sample);

/*
 * Commit and sleep after an fsync, if that is planned and more fsyncs follow. A signal ends the sleep.
 * Returns 0, or a negative errno of STEP.
 */
int fsync_exercise_pause(struct fsync_exercise *exercise, struct interrupts *interrupts);

void fsync_exercise_end(struct fsync_exercise *exercise);

#endif
