/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COUNTER_DELTA_H
#define FASTPATH_COUNTER_DELTA_H

#include "fs/counters.h"
#include "ui/json.h"

/*
 * What a kernel with fastpath_stats counted between two moments; { 0 } is nothing. Other kernels
 * have nothing to report.
 */
struct counter_delta {
	uint8_t fsid[FSID_SIZE];
	struct counters before;
	struct counters change;
	bool begun;
	bool ended;
};

/* FD is on the file system whose counters are meant. */
void counter_delta_begin(struct counter_delta *counter_delta, int fd);
void counter_delta_end(struct counter_delta *counter_delta);

/*
 * A line for each counter that changed, or all in the object "counters" of JSON if not NULL;
 * nothing if the kernel has none.
 */
void counter_delta_report(const struct counter_delta *counter_delta, struct json_writer *json);

#endif
