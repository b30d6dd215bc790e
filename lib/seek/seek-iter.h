/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_ITER_H
#define FASTPATH_SEEK_ITER_H

#include <stdbool.h>
#include <stdint.h>

#include "num/byte-range.h"
#include "num/latency.h"

/* A part of a file that lseek calls data or a hole. In bytes, never empty. */
struct seek_segment {
	uint64_t offset;
	uint64_t length;
	bool is_data;
};

/*
 * A walk over a file by SEEK_DATA and SEEK_HOLE in turn, each call starting where the one before
 * ended, as cp and tar do. The members are the walk's own, except where a comment says otherwise.
 */
struct seek_iter {
	int fd;
	/* can be set after the start: records the time of each call unless it is NULL */
	struct latency *latency;
	/* can be set after the start: open a new descriptor before each call; this is not timed */
	bool reopen;
	/* can be read: the number of lseek calls */
	uint64_t calls;
	/* can be read: the answers contradict each other, or the file became shorter */
	bool changed;

	uint64_t start;
	uint64_t position;
	uint64_t end;
	int whence;
	unsigned int stalled;
};

/* Start with the part RANGE of the file FD, of SIZE bytes. FD stays the caller's. */
void seek_iter_start(struct seek_iter *iter, int fd, struct byte_range range, uint64_t size);

/*
 * The next segment. The first segment begins at the start of the range, and each other one where
 * the one before ended. The last one ends at the end of the range, at SIZE, or earlier if the file
 * became shorter. Data and holes alternate unless the file changes between two calls.
 *
 * Returns 1 with a segment, 0 at the end, or a negative errno: -EPROTO for an answer before the
 * position or answers that make no progress, or the errno of lseek (or of open, with REOPEN).
 * Rests on lseek(2); with REOPEN on /proc/self/fd.
 */
int seek_iter_next(struct seek_iter *iter, struct seek_segment *ret_segment);

/*
 * Read RANGE of FD and look for a byte that is not zero. The pages are dropped from the cache
 * again, so that a large hole does not evict everything else. Bytes after the end of the file count
 * as zero.
 * Returns 1 with the offset of the first such byte; 0 if there is none, with the offset where
 * reading ended, which is the end of RANGE or of the file; or a negative errno.
 * Rests on pread(2) and posix_fadvise(2).
 */
int find_nonzero(int fd, struct byte_range range, uint64_t *ret_offset);

#endif
