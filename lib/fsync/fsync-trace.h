/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FSYNC_TRACE_H
#define FASTPATH_FSYNC_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/filesystem.h"

/* of a thread in an event, without a NUL byte at the end of the longest name */
#define EVENT_NAME_SIZE 16

enum fsync_event_type {
	/* a thread begins to write back a file or a directory: fsync(2), msync(2), a write with O_SYNC */
	FSYNC_EVENT_BEGIN,
	/* fsync(2), fdatasync(2) or msync(2) returns, of any file */
	FSYNC_EVENT_END,
	/* one of these, sync(2) or syncfs(2) begins: ends a write with O_SYNC, whose return is not traced */
	FSYNC_EVENT_CALL,
	/* a thread has committed the transaction */
	FSYNC_EVENT_COMMIT,
	/* a thread has ended */
	FSYNC_EVENT_EXIT,
};

struct fsync_event {
	/* CLOCK_MONOTONIC */
	uint64_t at_ns;
	enum fsync_event_type type;
	/* in the first PID namespace */
	pid_t tid;
	/* of FSYNC_EVENT_BEGIN; DIRECTORY is the inode of the one that it was opened in */
	uint64_t subvolid;
	uint64_t inode;
	uint64_t directory;
	/* of FSYNC_EVENT_EXIT; any bytes */
	char name[EVENT_NAME_SIZE];
};

struct fsync_trace;

/*
 * Begin to trace the file system FSID, in an instance of tracefs that only this process uses.
 * Instances that a killed process left are removed.
 * Returns 0; -EPERM or -EACCES without root; -EOPNOTSUPP if the kernel has no tracefs or not these
 * tracepoints; -ENOSYS if the program was built without libtracefs; or a negative
 * errno. Ended with fsync_trace_end(), after which nothing is left.
 * Rests on the tracepoints btrfs_sync_file and btrfs_transaction_commit
 * (include/trace/events/btrfs.h), those of system calls, and sched_process_exit, and on libtracefs.
 */
int fsync_trace_begin(const uint8_t fsid[FSID_SIZE], struct fsync_trace **ret_trace);
void fsync_trace_end(struct fsync_trace **trace);

/*
 * The events since the last call, in the order of their times. *RET_EVENTS is valid until the next
 * call. After *RET_COUNT of them, further ones follow up to *RET_KNOWN, to which earlier ones can
 * still come: they are events of the next call.
 * Returns 0 or a negative errno.
 */
int fsync_trace_read(struct fsync_trace *trace, const struct fsync_event **ret_events,
		     size_t *ret_count, size_t *ret_known);

/* How many events were lost since the beginning, at least, because they came faster than they were read. */
uint64_t fsync_trace_lost(const struct fsync_trace *trace);

#endif
