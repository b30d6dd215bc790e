/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_JUDGE_H
#define FASTPATH_LOG_STATS_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fsync/fsync-exercise.h"
#include "num/alarm-range.h"
#include "num/latency.h"
#include "ui/record.h"
#include "ui/options.h"

enum judged { JUDGED_P99, JUDGED_P95, JUDGED_P90, JUDGED_MEDIAN, JUDGED_MEAN, JUDGED_MAX };

/* In milliseconds. */
struct judged_range {
	/* as it was given; NULL: it was not, and nothing alerts */
	const char *text;
	struct alarm_range range;
};

/* What is judged, and by which limits. */
struct limits {
	enum judged judged;
	/* of --check; 0: none */
	uint64_t max_ns;
	/* of --format nagios */
	struct judged_range warning;
	struct judged_range critical;
};

/* Parse the TEXT of --judge, or of OPTION. Return 0, or EINVAL after printing an error. */
error_t limits_parse_judged(struct limits *limits, const char *text);
error_t limits_parse_range(const char *option, const char *text, struct judged_range *ret_range);

/*
 * Complains if the figure is above MAX_NS, as an error with QUIET, and warns if there are too few
 * fsyncs for the figure. Returns whether it is above.
 */
bool limits_check(const struct limits *limits, const struct latency *latency, bool quiet);

/* JSON: adds the member "check", which is null if no limit was given. */
void limits_report(const struct limits *limits, const struct latency *latency, struct output *out);

/* Prints the one line of a plugin. Returns the exit status of the plugin: OK, warning or critical. */
int limits_print_plugin(const struct limits *limits, const struct fsync_exercise *exercise);

#endif
