/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COUNTER_DELTA_H
#define FASTPATH_COUNTER_DELTA_H

#include "fs/counters.h"
#include "ui/record.h"

/*
 * The changes of the counters in fastpath_stats between two moments; begins as { 0 }. Most kernels
 * have no such counters, and nothing is reported.
 */
struct counter_delta {
	uint8_t fsid[FSID_SIZE];
	struct counters before;
	struct counters change;
	bool begun;
	bool ended;
};

/* FD selects the file system. */
void counter_delta_begin(struct counter_delta *counter_delta, int fd);
void counter_delta_end(struct counter_delta *counter_delta);

/*
 * Prints a line for each counter that changed; or adds the object "counters" with all counters. Prints
 * nothing if the kernel has no counters.
 */
void counter_delta_report(const struct counter_delta *counter_delta, struct output *out);

#endif
