// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stddef.h>

#include "send-reada-metrics.h"

static const struct metric stream_metric = {
	.name = "btrfs_fastpath_send_stream_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Estimated size of the stream with file data; a full one if there is no parent.",
};

static const struct metric full_metric = {
	.name = "btrfs_fastpath_send_full_stream_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Estimated size of a full stream of the same subvolume.",
};

static const struct metric eta_metric = {
	.name = "btrfs_fastpath_send_estimated_seconds",
	.type = METRIC_GAUGE,
	.unit = "seconds",
	.help = "How long the stream with file data takes at the rate of --rate.",
};

static const struct metric time_metric = {
	.name = "btrfs_fastpath_send_seconds",
	.type = METRIC_GAUGE,
	.unit = "seconds",
	.help = "How long the kernel took for this pass over the stream.",
};

static const struct metric read_metric = {
	.name = "btrfs_fastpath_send_read_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "What was read from the devices in this pass.",
};

static void add_pass(struct metrics *metrics, const char *subvolume, const struct send_pass *pass)
{
	const struct metric_label labels[] = {
		{ "subvolume", subvolume },
		{ "pass", pass->cold ? "cold" : "warm" },
		{ NULL, NULL },
	};

	metrics_add_ns(metrics, &time_metric, labels, pass->elapsed_ns);
	if (pass->device_known)
		metrics_add(metrics, &read_metric, labels, pass->device.read_bytes);
}

void send_report_metrics(const struct send_report *report, struct metrics *metrics)
{
	const struct metric_label labels[] = { { "subvolume", report->subvolume }, { NULL, NULL } };

	metrics_add(metrics, &stream_metric, labels,
		    send_reading_estimated_bytes(&report->reading));
	if (report->forecast.is_made)
		metrics_add(metrics, &full_metric, labels, report->forecast.full_bytes);
	if (report->forecast.rate)
		metrics_add_ns(metrics, &eta_metric, labels,
			       send_forecast_eta_ns(&report->forecast));
	/* Of warm passes the last one: two samples cannot have the same labels. */
	if (report->passes[0].cold)
		add_pass(metrics, report->subvolume, &report->passes[0]);
	if (!report->passes[report->pass_count - 1].cold)
		add_pass(metrics, report->subvolume, &report->passes[report->pass_count - 1]);
}
