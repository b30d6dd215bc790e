/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FSYNC_TALLY_H
#define FASTPATH_FSYNC_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/commit-counters.h"
#include "fsync/fsync-trace.h"

/* Of more threads that are in an fsync at the same time, the one that began first is given up. */
#define FSYNC_TALLY_THREADS_MAX 4096

/* An fsync that has ended, or a commit that was not made by one. */
struct traced_call {
	pid_t tid;
	/* false: a commit of the transaction by something else than an fsync */
	bool is_fsync;
	/* members of an fsync */
	uint64_t subvolid;
	uint64_t inode;
	uint64_t directory;
	enum fsync_kind kind;
	/* the thread committed the transaction itself */
	bool has_committed;
	/* false: the end was not traced, as of a write with O_SYNC */
	bool has_time;
	uint64_t time_ns;
};

struct fsync_tally;

/* Returns 0 or -ENOMEM; freed with fsync_tally_free(). */
int fsync_tally_new(struct fsync_tally **ret_tally);
void fsync_tally_free(struct fsync_tally *tally);

/*
 * What EVENT completes: 1 with RET_CALL, or 0. Events come in the order of their times.
 *
 * An fsync is full if its thread committed the transaction; uncertain if another thread did so meanwhile, for
 * which it may have waited; else it is a log commit.
 */
int fsync_tally_add(struct fsync_tally *tally, const struct fsync_event *event,
		    struct traced_call *ret_call);

#endif
