// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/descriptor-limit.h"
#include "ui/exit-status.h"
#include "ui/file-report.h"
#include "ui/progress.h"

static int walk_files(struct file_report *report, const struct file_report_ops *ops, void *data)
{
	CLEANUP(descriptor_limit_restore) struct descriptor_limit limit = descriptor_limit_raise();
	CLEANUP(file_walk_freep) struct file_walk *walk = NULL;
	int ret;

	if (!file_options_ask_for_any(report->options))
		return 0;
	ret = file_options_walk(report->options, ops->directory, data, &walk);
	if (ret < 0)
		return ret;
	if (ops->walk)
		return ops->walk(data, walk);
	return file_visit_each(&report->visit, walk, ops->file, data);
}

/* JSON has its total whatever happened, so that its members are always there. */
static int report_total(const struct file_report *report, const struct file_report_ops *ops,
			void *data, int walked)
{
	int ret;

	if (!ops->total || (walked < 0 && !report->options->global->json))
		return walked;
	ret = ops->total(data);
	return walked < 0 ? walked : ret;
}

static int report_all(struct file_report *report, const struct file_report_ops *ops, void *data)
{
	bool has_frame = report->options->global->json && ops->key;
	int ret;

	if (has_frame) {
		json_begin_results(&report->json, stdout, report->options->global->json_style,
				   ops->key);
	}
	ret = walk_files(report, ops, data);
	progress_clear();
	if (ops->kept) {
		int kept = ops->kept(data);

		ret = ret < 0 ? ret : kept;
	}
	if (has_frame)
		json_end_results(&report->json);
	ret = report_total(report, ops, data, ret);
	if (ret == 0 && ops->append)
		ret = ops->append(data);
	if (has_frame)
		json_end(&report->json);
	return ret;
}

static const struct metric skipped_mounts_metric = {
	.name = "btrfs_fastpath_skipped_mounts",
	.type = METRIC_GAUGE,
	.help = "Mount points of the same file system below named directories, which were not entered.",
};

/* Warnings are of no use to who collects metrics. */
static void tell_caller(const struct file_report *report)
{
	struct global_options *global = report->options->global;

	global->skipped_mount_count = report->visit.skipped_mount_count;
	if (global->metrics && report->options->recursive)
		metrics_add(global->metrics, &skipped_mounts_metric, NULL,
			    global->skipped_mount_count);
}

int file_report_run(struct file_report *report, const struct file_options *options,
		    const struct file_report_ops *ops, void *data)
{
	int ret;

	*report = (struct file_report){ .options = options };
	ret = file_visit_init(&report->visit, file_options_can_overlap(options));
	report->visit.from_list = options->files0_from;
	report->visit.each_name = ops->name;
	report->visit.data = data;
	if (ret == 0)
		ret = ops->prepare(data);
	if (ret == 0) {
		progress_start(options->global->verbosity >= 0);
		ret = report_all(report, ops, data);
		file_visit_warn_of_vanished(&report->visit);
		file_visit_warn_of_mounts(&report->visit);
		tell_caller(report);
	}

	file_options_complain(options, ret);
	ops->release(data);
	file_visit_free(&report->visit);
	return ret < 0 ? STATUS_ERROR : report->visit.status;
}

void file_report_begin_json_total(struct file_report *report)
{
	json_begin_object(&report->json, "total");
	json_add_uint(&report->json, "file_count", report->file_count);
	json_add_uint(&report->json, "vanished_count", report->visit.vanished_count);
	json_add_uint(&report->json, "skipped_mount_count", report->visit.skipped_mount_count);
}
