// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "send-reada-forecast.h"
#include "sys/clock.h"
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

uint64_t send_forecast_bytes(const struct send_forecast *forecast)
{
	return forecast->is_incremental ? forecast->incremental_bytes : forecast->full_bytes;
}

void send_forecast_finish(struct send_forecast *forecast)
{
	forecast->is_made = true;
	forecast->has_rate = forecast->rate;
	forecast->has_full_eta = forecast->has_rate && forecast->has_full;
	forecast->is_compared = forecast->is_incremental && forecast->has_full;
	if (!forecast->has_rate)
		return;
	forecast->rate_source = forecast->measured_bytes ? "measured" : "given";
	forecast->eta_ns = eta_ns(forecast, send_forecast_bytes(forecast));
	forecast->full_eta_ns = eta_ns(forecast, forecast->full_bytes);
}
