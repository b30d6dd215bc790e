/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_JUDGE_H
#define FASTPATH_LOG_STATS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alarm-range.h"
#include "base/latency.h"
#include "fs/commit-counters.h"
#include "ui/json.h"
#include "ui/options.h"

enum judged { JUDGED_P99, JUDGED_P95, JUDGED_P90, JUDGED_MEDIAN, JUDGED_MEAN, JUDGED_MAX };

/* What is judged, and by which limits. */
struct limits {
	enum judged judged;
	/* of --check; 0: none */
	uint64_t max_ns;
	/* of --format nagios, in milliseconds; without one nothing alerts */
	bool has_warning;
	bool has_critical;
	struct alarm_range warning;
	struct alarm_range critical;
	/* as they were given */
	const char *warning_text;
	const char *critical_text;
};

/* Parse what --judge, --warning and --critical take. Return 0, or EINVAL after printing an error. */
error_t limits_parse_judged(struct limits *limits, const char *text);
error_t limits_parse_warning(struct limits *limits, const char *text);
error_t limits_parse_critical(struct limits *limits, const char *text);

/*
 * Complains if the figure is above MAX_NS, as an error with QUIET, and warns if there are too few
 * fsyncs for the figure. Returns whether it is above.
 */
bool limits_check(const struct limits *limits, const struct latency *latency, bool quiet);

/* The member "check": null if no limit was given. */
void limits_json(const struct limits *limits, const struct latency *latency,
		 struct json_writer *json);

/* The fsyncs as a monitoring plugin tells of them. */
struct plugin_figures {
	const struct latency *latency;
	uint64_t counts[FSYNC_KINDS];
};

/* Prints the one line of a plugin. Returns the exit status of the plugin: OK, warning or critical. */
int limits_print_plugin(const struct limits *limits, const struct plugin_figures *figures);

/*
 * Prints the line of a plugin that could not find out, and why: the first error, or OTHERWISE.
 * Returns its exit status.
 */
int print_plugin_unknown(const char *otherwise);

#endif
