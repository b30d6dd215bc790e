// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "fiemap-shared-report.h"

static const struct metric files_metric = {
	.name = "btrfs_fastpath_sharing_files",
	.type = METRIC_GAUGE,
	.help = "Files whose extents were examined.",
};

static const struct metric extents_metric = {
	.name = "btrfs_fastpath_sharing_extents",
	.type = METRIC_GAUGE,
	.help = "Extents of these files.",
};

static const struct metric shared_extents_metric = {
	.name = "btrfs_fastpath_sharing_shared_extents",
	.type = METRIC_GAUGE,
	.help = "Extents of these files that are shared.",
};

static const struct metric bytes_metric = {
	.name = "btrfs_fastpath_sharing_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Bytes of these files by kind; set_shared counts bytes that several of them share once.",
};

static const struct metric disk_metric = {
	.name = "btrfs_fastpath_sharing_disk_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "What the data of these files takes on disk.",
};

static const struct metric freed_metric = {
	.name = "btrfs_fastpath_sharing_freed_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "Data on disk that becomes free if all of these files are deleted together.",
};

static int open_report(struct report *report)
{
	(void)report;
	return 0;
}

static void nothing(struct report *report)
{
	(void)report;
}

static int skip_file(struct report *report, const char *path, const struct sharing *sharing,
		     const struct file_space *space)
{
	(void)space;
	(void)report;
	(void)path;
	(void)sharing;
	return 0;
}

static void add_bytes(struct metrics *metrics, const char *kind, uint64_t bytes)
{
	const struct metric_label labels[] = { { "kind", kind }, { NULL, NULL } };

	metrics_add(metrics, &bytes_metric, labels, bytes);
}

static int add_total(struct report *report, const struct sharing *total,
		     const uint64_t *set_shared_bytes, const struct freed_space *space)
{
	struct metrics *metrics = report->arguments->global->metrics;

	metrics_add(metrics, &files_metric, NULL, report->files->file_count);
	metrics_add(metrics, &extents_metric, NULL, total->extent_count);
	metrics_add(metrics, &shared_extents_metric, NULL, total->shared_count);
	add_bytes(metrics, "total", total->total_bytes);
	add_bytes(metrics, "exclusive", sharing_exclusive_bytes(total));
	add_bytes(metrics, "shared", total->shared_bytes);
	add_bytes(metrics, "inline", total->inline_bytes);
	add_bytes(metrics, "delalloc", total->delalloc_bytes);
	if (set_shared_bytes)
		add_bytes(metrics, "set_shared", *set_shared_bytes);
	if (space)
		metrics_add(metrics, &disk_metric, NULL, space->disk_bytes);
	if (space && report->arguments->freed)
		metrics_add(metrics, &freed_metric, NULL, space->freed_bytes);
	return 0;
}

/* Only the sums of all files: a sample for each of a million files is of no use. */
const struct report_ops fiemap_shared_metrics = {
	.open = open_report,
	.close = nothing,
	.summary = skip_file,
	.total = add_total,
	.no_owner_summary = nothing,
};
