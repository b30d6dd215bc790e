/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_FORECAST_H
#define FASTPATH_SEND_READA_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "send/send-subvolume.h"
#include "ui/json.h"

/* The contents of --estimate: how large the stream will be, and how long it will take. */
struct send_forecast {
	/* false without --estimate: all is unknown */
	bool is_made;
	/* whether the stream has a parent */
	bool is_incremental;
	uint64_t incremental_bytes;
	uint64_t full_bytes;
	/* bytes a second, 0 if unknown */
	uint64_t rate;
	/* the part of the stream by which the rate was measured, 0 if the user gave it */
	uint64_t measured_bytes;
	uint64_t measured_ns;
};

/*
 * Measures the rate at which the kernel sends REQUEST with file data: sends for some seconds, or
 * the whole stream if that is shorter, and discards it. Warns if that took less than a second.
 * Returns 0 or as send_subvolume().
 */
int send_forecast_measure(struct send_forecast *forecast, const struct send_request *request,
			  struct size_format sizes);

/* How long the stream takes, with its parent if there is one. The rate must be known. */
uint64_t send_forecast_eta_ns(const struct send_forecast *forecast);

/*
 * Prints FORECAST as text. If SIZES are bare numbers and there is no rate, this is the size of the
 * stream alone, as other programs want it.
 */
void send_forecast_print(const struct send_forecast *forecast, struct size_format sizes);

/* Writes FORECAST as members of the current JSON object; null for what is unknown. */
void send_forecast_json(const struct send_forecast *forecast, struct json_writer *json);

#endif
