/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_REPORT_H
#define FASTPATH_SEND_READA_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "fs/device-stats.h"
#include "send-reada-forecast.h"
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

/* The contents of the report. */
struct send_report {
	struct size_format sizes;
	/* the options --data and --cold */
	bool with_data;
	bool cold;
	/* the subvolume's name as the user gave it, or in a decoded stream */
	const char *subvolume;
	/* the parent's name as the user gave it, or NULL */
	const char *parent;
	struct send_reading reading;
	struct send_pass *passes;
	size_t pass_count;
	uint64_t tree_bytes;
	/* with --estimate */
	struct send_forecast forecast;
	struct counter_delta counter_delta;
	/* of the first pass, or NULL */
	struct send_plot *plot;
	/* the damage of a decoded stream, or NULL */
	const char *error;
};

/* Prints REPORT as text. Returns 0 or -ENOMEM. */
int send_report_print(const struct send_report *report);

/* Writes REPORT as members of the current JSON object. */
void send_report_json(const struct send_report *report, struct json_writer *json);

#endif
