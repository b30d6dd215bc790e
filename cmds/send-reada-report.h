/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_REPORT_H
#define FASTPATH_SEND_READA_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "fs/device-stats.h"
#include "send-reada-reading.h"
#include "ui/counter-delta.h"
#include "ui/json.h"

/* One pass over the stream. */
struct send_pass {
	bool cold;
	uint64_t elapsed_ns;
	uint64_t stream_bytes;
	uint64_t command_count;
	struct device_stats device;
	bool device_known;
};

/* All that there is to tell. */
struct send_report {
	struct size_format sizes;
	/* whether it is file data, too, that is sent, and whether a pass is to be cold */
	bool with_data;
	bool cold;
	/* the subvolume as it was named, or as a decoded stream calls it */
	const char *subvolume;
	/* as it was named, NULL: none */
	const char *parent;
	struct send_reading reading;
	struct send_pass *passes;
	size_t pass_count;
	uint64_t tree_bytes;
	/* of an incremental stream that is estimated: all of it */
	uint64_t full_bytes;
	struct counter_delta counter_delta;
	/* what is wrong with a decoded stream */
	const char *error;
};

/* As text. Returns 0 or -ENOMEM. */
int send_report_print(const struct send_report *report);

/* As members of an object of JSON. */
void send_report_json(const struct send_report *report, struct json_writer *json);

#endif
