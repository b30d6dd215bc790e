/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_FORECAST_H
#define FASTPATH_SEND_READA_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "send/send-subvolume.h"
#include "text/units.h"

/* The contents of --estimate: how large the stream will be, and how long it will take. */
struct send_forecast {
	/* false without --estimate: all is unknown */
	bool is_made;
	/* whether the stream has a parent */
	bool is_incremental;
	uint64_t incremental_bytes;
	/* the size of a stream without a parent is known */
	bool has_full;
	uint64_t full_bytes;
	/* bytes a second, 0 if unknown */
	uint64_t rate;
	/* the part of the stream by which the rate was measured, 0 if the user gave it */
	uint64_t measured_bytes;
	uint64_t measured_ns;
	/* of send_forecast_finish() */
	bool has_rate;
	bool has_full_eta;
	/* there are both an incremental and a full size */
	bool is_compared;
	const char *rate_source;
	uint64_t eta_ns;
	uint64_t full_eta_ns;
};

/*
 * Measures the rate at which the kernel sends REQUEST with file data: sends for some seconds, or
 * the whole stream if that is shorter, and discards it. Warns if that took less than a second.
 * Returns 0 or as send_subvolume().
 */
int send_forecast_measure(struct send_forecast *forecast, const struct send_request *request,
			  struct size_format sizes);

/* The size of the stream, with its parent if there is one. */
uint64_t send_forecast_bytes(const struct send_forecast *forecast);

/* The sizes and the rate are known: how long the streams take. */
void send_forecast_finish(struct send_forecast *forecast);

#endif
