/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COUNTED_H
#define FASTPATH_COUNTED_H

#include "counters.h"
#include "json.h"

/*
 * What a kernel with fastpath_stats counted between two moments; { 0 } is nothing. Other kernels
 * have nothing to report.
 */
struct counted {
	uint8_t fsid[FSID_SIZE];
	struct counters before;
	struct counters change;
	bool begun;
	bool ended;
};

/* FD is on the file system whose counters are meant. */
void counted_begin(struct counted *counted, int fd);
void counted_end(struct counted *counted);

/*
 * A line for each counter that changed, or all in the object "counters" of JSON if not NULL;
 * nothing if the kernel has none.
 */
void counted_report(const struct counted *counted, struct json_writer *json);

#endif
