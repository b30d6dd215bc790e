// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/duration.h"
#include "send-reada-forecast.h"
#include "ui/message.h"
#include "ui/progress.h"

/* Enough to read past what is in memory or in the cache of a disk, and short enough to wait for. */
#define MEASURE_NS (5 * NANOSECONDS_PER_SECOND)

/* -- measuring the rate -- */

struct measurement {
	uint64_t started_ns;
	uint64_t elapsed_ns;
	uint64_t bytes;
	struct size_format sizes;
};

static int take_for_a_while(void *data, const void *bytes, size_t size)
{
	struct measurement *measurement = data;
	char text[UNITS_TEXT_SIZE];

	(void)bytes;
	measurement->bytes += size;
	measurement->elapsed_ns = monotonic_ns() - measurement->started_ns;
	if (progress_due())
		progress_show("measuring the rate: %s sent",
			      format_size(text, measurement->bytes, measurement->sizes));
	return measurement->elapsed_ns < MEASURE_NS ? 0 : -ECANCELED;
}

/* All of a short stream can come from memory. */
static void warn_of_short_measurement(const struct send_forecast *forecast)
{
	char time[UNITS_TEXT_SIZE];

	if (forecast->measured_ns < NANOSECONDS_PER_SECOND)
		warning("the rate was measured for only %s, perhaps of data in memory; reading from the devices "
			"can take longer",
			format_time(time, forecast->measured_ns));
}

int send_forecast_measure(struct send_forecast *forecast, const struct send_request *request,
			  struct size_format sizes)
{
	struct send_request with_data = *request;
	struct measurement measurement = { .started_ns = monotonic_ns(), .sizes = sizes };
	int ret;

	with_data.data = true;
	ret = send_subvolume(&with_data, take_for_a_while, &measurement);
	progress_clear();
	if (ret < 0 && ret != -ECANCELED)
		return ret;
	forecast->measured_bytes = measurement.bytes;
	forecast->measured_ns = measurement.elapsed_ns;
	forecast->rate = per_second(measurement.bytes, measurement.elapsed_ns);
	warn_of_short_measurement(forecast);
	return 0;
}

/* -- what follows from it -- */

static uint64_t eta_ns(const struct send_forecast *forecast, uint64_t bytes)
{
	return mul_div(bytes, NANOSECONDS_PER_SECOND, forecast->rate);
}

static uint64_t stream_bytes(const struct send_forecast *forecast)
{
	return forecast->is_incremental ? forecast->incremental_bytes : forecast->full_bytes;
}

uint64_t send_forecast_eta_ns(const struct send_forecast *forecast)
{
	return eta_ns(forecast, stream_bytes(forecast));
}

/* -- text -- */

static void print_stream(const struct send_forecast *forecast, const char *name, uint64_t bytes,
			 struct size_format sizes)
{
	char size[UNITS_TEXT_SIZE], time[UNITS_TEXT_SIZE];

	printf("%s: %s", name, format_size(size, bytes, sizes));
	if (forecast->rate)
		printf(", %s", format_duration(time, eta_ns(forecast, bytes)));
	putchar('\n');
}

static void print_rate(const struct send_forecast *forecast, struct size_format sizes)
{
	char rate[UNITS_TEXT_SIZE], size[UNITS_TEXT_SIZE], time[UNITS_TEXT_SIZE];

	format_size(rate, forecast->rate, sizes);
	if (forecast->measured_bytes)
		printf("Rate: %s/s, measured: %s sent and discarded in %s\n", rate,
		       format_size(size, forecast->measured_bytes, sizes),
		       format_time(time, forecast->measured_ns));
	else
		printf("Rate: %s/s, as given\n", rate);
}

void send_forecast_print(const struct send_forecast *forecast, struct size_format sizes)
{
	char text[UNITS_TEXT_SIZE];

	if (sizes.base == SIZE_RAW && !forecast->rate) {
		puts(format_size(text, stream_bytes(forecast), sizes));
		return;
	}
	if (forecast->is_incremental)
		print_stream(forecast, "Incremental", forecast->incremental_bytes, sizes);
	print_stream(forecast, "Full", forecast->full_bytes, sizes);
	if (forecast->rate)
		print_rate(forecast, sizes);
}

/* -- JSON -- */

static void json_eta(struct json_writer *json, const char *key,
		     const struct send_forecast *forecast, uint64_t bytes)
{
	json_add_known_uint(json, key, forecast->rate, eta_ns(forecast, bytes));
}

void send_forecast_json(const struct send_forecast *forecast, struct json_writer *json)
{
	const char *source = forecast->measured_bytes ? "measured" : "given";

	json_add_known_uint(json, "incremental_bytes", forecast->is_incremental,
			    forecast->incremental_bytes);
	json_add_known_uint(json, "full_bytes", forecast->is_made, forecast->full_bytes);
	json_add_known_uint(json, "rate_bytes_per_second", forecast->rate, forecast->rate);
	json_add_string(json, "rate_source", forecast->rate ? source : NULL);
	json_eta(json, "eta_ns", forecast, stream_bytes(forecast));
	json_eta(json, "full_eta_ns", forecast, forecast->full_bytes);
}
