/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_CAUSES_H
#define FASTPATH_LOG_STATS_CAUSES_H

#include <stdint.h>

#include "ui/options.h"
#include "ui/record.h"

/* --by: what the fsyncs and commits of a file system are counted by. */
enum cause_kind {
	/* without the option */
	CAUSE_NONE,
	CAUSE_PROCESS,
	CAUSE_DIRECTORY,
	CAUSE_FILE,
};

/* Parses the value of --by. Returns 0; or EINVAL, and complains. */
int cause_kind_parse(const char *text, enum cause_kind *ret_kind);
const char *cause_kind_name(enum cause_kind kind);

struct causes;

/*
 * Begins to trace the file system of FD, which stays the caller's. Returns 0 or a negative errno as
 * fsync_trace_begin(); ended with causes_end().
 */
int causes_begin(struct causes **ret_causes, enum cause_kind kind, int fd);
void causes_end(struct causes **causes);

/*
 * Counts what has happened, so that the kernel's buffers do not fill up, and the processes still have a
 * name: ten times a second. Returns 0 or a negative errno.
 */
int causes_count(struct causes *causes);

/*
 * Reports what was counted since the last report, and ELAPSED_NS before it: members of the open object, or a
 * table. Returns 0 or a negative errno.
 */
int causes_report(struct causes *causes, uint64_t elapsed_ns, struct output *out);

/*
 * In log-stats-watch.c: reports every INTERVAL_NS the commits since the last report, on the file
 * system of DIRECTORY, or what caused them and the fsyncs, until a signal ends it. SIGINT and
 * SIGTERM are the normal end and not an error.
 * Returns the exit status.
 */
int log_stats_watch(const char *directory, uint64_t interval_ns, enum cause_kind by,
		    const struct global_options *global);

#endif
