/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_REPORT_H
#define FASTPATH_SEND_READA_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/device-stats.h"
#include "send-reada-forecast.h"
#include "send-reada-reading.h"
#include "send-reada-target.h"
#include "ui/counter-delta.h"
#include "ui/record.h"

/* One pass over the stream, and its row: the members after the dashes are those of the report. */
struct send_pass {
	enum answer cold;
	uint64_t elapsed_ns;
	uint64_t stream_bytes;
	uint64_t command_count;
	bool has_device;
	struct device_stats device;
	/* -- */
	char number[24];
	const char *name;
	const char *caches;
	const char *subvolume;
	bool has_command_rate;
	uint64_t commands_per_second;
	bool has_stream_rate;
	uint64_t stream_bytes_per_second;
	bool has_reads;
	uint64_t mean_read_bytes;
	/* times 100 */
	uint64_t in_flight;
	uint64_t busy_percent;
};

/* The contents of the report. */
struct send_report {
	/* the option --data */
	bool with_data;
	/* the subvolume's name as the user gave it, or in a decoded stream */
	const char *subvolume;
	/* the parent's name as the user gave it, or NULL */
	const char *parent;
	struct send_reading reading;
	/* the size of the stream with data */
	uint64_t estimated_bytes;
	struct send_pass *passes;
	size_t pass_count;
	uint64_t tree_bytes;
	/* with --estimate */
	struct send_forecast forecast;
	struct counter_delta counter_delta;
	/* of the first pass, with --plot */
	struct send_plot plot;
	/* with --decode */
	bool is_decoded;
	struct send_target target;
	/* the damage of a decoded stream, or NULL */
	const char *error;
};

/* Prints REPORT; in JSON as members of the open object. Returns 0 or -ENOMEM. */
int send_report_print(const struct send_report *report, struct output *out);

#endif
