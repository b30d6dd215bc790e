// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "nocow-check-report.h"

static const struct metric files_metric = {
	.name = "btrfs_fastpath_nocow_files",
	.type = METRIC_GAUGE,
	.help = "Files whose next writes were examined.",
};

static const struct metric bytes_metric = {
	.name = "btrfs_fastpath_nocow_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Bytes of these files by where the next write to them goes, and why.",
};

static const struct metric checksums_metric = {
	.name = "btrfs_fastpath_nocow_checksum_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Bytes of these files that have checksums, as far as this was asked.",
};

static const struct metric alarms_metric = {
	.name = "btrfs_fastpath_nocow_alarms",
	.type = METRIC_GAUGE,
	.help = "Files that the check found.",
};

static int open_report(struct report *report)
{
	(void)report;
	return 0;
}

static void close_report(struct report *report)
{
	(void)report;
}

static const char *const fate_names[] = {
	[NOCOW_IN_PLACE] = "in_place",
	[NOCOW_COPIED] = "copied",
	[NOCOW_NEW] = "new",
	[NOCOW_UNKNOWN] = "unknown",
};

static void add_reason(struct metrics *metrics, enum nocow_reason reason, uint64_t bytes)
{
	const struct metric_label labels[] = {
		{ "next_write", fate_names[nocow_reason_fate(reason)] },
		{ "reason", nocow_reason_name(reason) },
		{ NULL, NULL },
	};

	metrics_add(metrics, &bytes_metric, labels, bytes);
}

static int add_total(struct report *report, const struct nocow_sums *total, bool several)
{
	(void)several;
	metrics_add(report->metrics, &files_metric, NULL, report->files->file_count);
	for (int i = 0; i < NOCOW_REASON_COUNT; i++)
		add_reason(report->metrics, i, total->bytes[i]);
	if (total->csum_asked_bytes)
		metrics_add(report->metrics, &checksums_metric, NULL, total->csum_bytes);
	if (report->verdicts)
		metrics_add(report->metrics, &alarms_metric, NULL, report->alarm_count);
	return 0;
}

/* Only the sums of all files: a sample for each of a million files is of no use. */
const struct report_ops nocow_check_metrics = {
	.open = open_report,
	.close = close_report,
	.total = add_total,
};
