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
static const struct metric counter_metric = {
	"btrfs_fastpath_counter", METRIC_COUNTER, NULL,
	"How often the patched kernel took this shortcut or slow path since the mount."
};
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

static const struct field release_fields[] = {
	{ 0, FIELD_TEXT, .metric = &kernel_metric, .label.name = "release" },
	{ 0 },
};

struct present_row {
	const char *feature;
	enum answer present;
};

#define PRESENT(member) offsetof(struct present_row, member)

static const struct field present_fields[] = {
	{ PRESENT(feature), FIELD_TEXT, .label.name = "feature" },
	{ PRESENT(present), FIELD_ANSWER, .metric = &present_metric },
	{ 0 },
};

void kernel_metrics_features(struct output *out, const char *release,
			     const struct feature_status statuses[FEATURE_COUNT])
{
	record_samples(out, release_fields, &release);
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		enum feature_state state = statuses[i].state;
		const struct present_row row = {
			features[i].name,
			answer_of(state != FEATURE_UNKNOWN, feature_state_is_present(state)),
		};

		record_samples(out, present_fields, &row);
	}
}

struct counter_row {
	const char *uuid;
	const char *counter;
	uint64_t value;
};

#define COUNTER(member) offsetof(struct counter_row, member)

static const struct field counter_fields[] = {
	{ COUNTER(uuid), FIELD_TEXT, .label.name = "uuid" },
	{ COUNTER(counter), FIELD_TEXT, .label.name = "counter" },
	{ COUNTER(value), FIELD_NUMBER, .metric = &counter_metric },
	{ 0 },
};

void kernel_metrics_counters(struct output *out, const uint8_t fsid[FSID_SIZE],
			     const struct counters *counters)
{
	char uuid[FSID_TEXT_SIZE];

	filesystem_id_text(uuid, fsid);
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *counter = &counters->list[i];

		record_samples(out, counter_fields,
			       &(struct counter_row){ uuid, counter->name, counter->value });
	}
}

struct commits_row {
	const char *uuid;
	struct commit_counters counters;
	uint64_t total_ns;
	uint64_t last_ns;
	uint64_t longest_ns;
};

#define COMMITS(member) offsetof(struct commits_row, member)

static const struct field commits_fields[] = {
	{ COMMITS(uuid), FIELD_TEXT, .label.name = "uuid" },
	{ COMMITS(counters.commits), FIELD_NUMBER, .known = COMMITS(counters.stats_known),
	  .metric = &commits_metric },
	{ COMMITS(total_ns), FIELD_TIME, .known = COMMITS(counters.stats_known),
	  .metric = &commit_time_metric },
	{ COMMITS(last_ns), FIELD_TIME, .known = COMMITS(counters.stats_known),
	  .metric = &last_commit_metric },
	{ COMMITS(longest_ns), FIELD_TIME, .known = COMMITS(counters.stats_known),
	  .metric = &longest_commit_metric },
	{ 0 },
};

void kernel_metrics_commits(struct output *out, const uint8_t fsid[FSID_SIZE],
			    const struct commit_counters *counters)
{
	char uuid[FSID_TEXT_SIZE];
	const struct commits_row row = {
		.uuid = filesystem_id_text(uuid, fsid),
		.counters = *counters,
		.total_ns = counters->total_commit_ms * NANOSECONDS_PER_MILLISECOND,
		.last_ns = counters->last_commit_ms * NANOSECONDS_PER_MILLISECOND,
		.longest_ns = counters->max_commit_ms * NANOSECONDS_PER_MILLISECOND,
	};

	record_samples(out, commits_fields, &row);
}
