// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "sys/clock.h"
#include "ui/kernel-metrics.h"

static const struct metric kernel_metric = { "btrfs_fastpath_kernel", METRIC_INFO, NULL,
					     "The running kernel." };

static const struct metric present_metric = {
	"btrfs_fastpath_feature_present", METRIC_GAUGE, NULL,
	"Whether the kernel has this feature; there is no sample if this is unknown."
};

void kernel_metrics_features(struct metrics *metrics, const char *release,
			     const struct feature_status statuses[FEATURE_COUNT])
{
	const struct metric_label kernel_labels[] = { { "release", release }, { NULL, NULL } };

	metrics_add(metrics, &kernel_metric, kernel_labels, 1);
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		const struct metric_label labels[] = { { "feature", features[i].name },
						       { NULL, NULL } };

		if (statuses[i].state != FEATURE_UNKNOWN)
			metrics_add(metrics, &present_metric, labels,
				    feature_state_is_present(statuses[i].state));
	}
}

static const struct metric module_metric = {
	"btrfs_fastpath_module", METRIC_INFO, NULL,
	"The patched module that the package has for the running kernel."
};

static const struct metric reboot_metric = {
	"btrfs_fastpath_module_reboot_needed", METRIC_GAUGE, NULL,
	"Whether the next boot loads another btrfs module than the running kernel has."
};

void kernel_metrics_module(struct metrics *metrics, const struct module_report *report)
{
	const struct module_kernel *running = report->running;

	metrics_add(metrics, &reboot_metric, NULL, report->needs_reboot);
	if (running) {
		const struct metric_label labels[] = {
			{ "state", module_state_name(running->state) },
			{ "version", running->version ? running->version : "" },
			{ NULL, NULL },
		};

		metrics_add(metrics, &module_metric, labels, 1);
	}
}

static const struct metric counter_metric = {
	"btrfs_fastpath_counter", METRIC_COUNTER, NULL,
	"How often the patched kernel took this shortcut or slow path since the mount."
};

void kernel_metrics_counters(struct metrics *metrics, const uint8_t fsid[FSID_SIZE],
			     const struct counters *counters)
{
	char text[FSID_TEXT_SIZE];

	filesystem_id_text(text, fsid);
	for (size_t i = 0; i < counters->count; i++) {
		const struct metric_label labels[] = {
			{ "uuid", text },
			{ "counter", counters->list[i].name },
			{ NULL, NULL },
		};

		metrics_add(metrics, &counter_metric, labels, counters->list[i].value);
	}
}

static const struct metric generation_metric = { "btrfs_fastpath_generation", METRIC_GAUGE, NULL,
						 "The number of the newest transaction." };

static const struct metric commits_metric = { "btrfs_fastpath_commits", METRIC_COUNTER, NULL,
					      "Commits of transactions since the mount." };

static const struct metric commit_time_metric = { "btrfs_fastpath_commit_seconds", METRIC_COUNTER,
						  "seconds",
						  "How long all commits since the mount took." };

static const struct metric last_commit_metric = { "btrfs_fastpath_last_commit_seconds",
						  METRIC_GAUGE, "seconds",
						  "How long the last commit took." };

static const struct metric longest_commit_metric = {
	"btrfs_fastpath_longest_commit_seconds", METRIC_GAUGE, "seconds",
	"How long the longest commit since the mount took."
};

static void add_ms(struct metrics *metrics, const struct metric *metric,
		   const struct metric_label *labels, uint64_t milliseconds)
{
	metrics_add_ns(metrics, metric, labels, milliseconds * NANOSECONDS_PER_MILLISECOND);
}

void kernel_metrics_commits(struct metrics *metrics, const uint8_t fsid[FSID_SIZE],
			    const struct commit_counters *counters)
{
	char text[FSID_TEXT_SIZE];
	const struct metric_label labels[] = { { "uuid", text }, { NULL, NULL } };

	filesystem_id_text(text, fsid);
	if (counters->generation_known)
		metrics_add(metrics, &generation_metric, labels, counters->generation);
	if (!counters->stats_known)
		return;
	metrics_add(metrics, &commits_metric, labels, counters->commits);
	add_ms(metrics, &commit_time_metric, labels, counters->total_commit_ms);
	add_ms(metrics, &last_commit_metric, labels, counters->last_commit_ms);
	add_ms(metrics, &longest_commit_metric, labels, counters->max_commit_ms);
}
