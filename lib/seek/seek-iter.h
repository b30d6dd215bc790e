/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_ITER_H
#define FASTPATH_SEEK_ITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte-range.h"
#include "base/latency.h"

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
	/* may be set after the start: takes the time of each call; NULL: none is taken */
	struct latency *latency;
	/* may be set after the start: a new descriptor for each call, opened outside of its time */
	bool reopen;
	/* to be read: lseek calls made */
	uint64_t calls;
	/* to be read: the answers contradict each other, or the file lost its end */
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
 * The next segment: each begins where the one before ended, the first with the range and the
 * last ends with it, or with SIZE, or earlier where the file got shorter. Data and holes take turns
 * unless the file changes between two calls.
 *
 * Returns 1 with a segment, 0 at the end, or a negative errno: -EPROTO for an answer before the
 * position or answers that make no progress, or what lseek (and open, with REOPEN) gave.
 * Rests on lseek(2); with REOPEN on /proc/self/fd.
 */
int seek_iter_next(struct seek_iter *iter, struct seek_segment *ret_segment);

#endif
