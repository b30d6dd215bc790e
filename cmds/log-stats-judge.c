// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "log-stats-judge.h"
#include "ui/exit-status.h"
#include "ui/message.h"

/* Of fewer fsyncs the 99th percentile is the slowest one. */
#define FSYNCS_MIN 100

struct figure {
	const char *name;
	const char *words;
};

static const struct figure figures[] = {
	[JUDGED_P99] = { "p99", "the 99th percentile" },
	[JUDGED_P95] = { "p95", "the 95th percentile" },
	[JUDGED_P90] = { "p90", "the 90th percentile" },
	[JUDGED_MEDIAN] = { "median", "the median" },
	[JUDGED_MEAN] = { "mean", "the mean" },
	[JUDGED_MAX] = { "max", "the slowest fsync" },
};

#define FIGURE_COUNT (sizeof(figures) / sizeof(figures[0]))

/* -- options -- */

error_t limits_parse_judged(struct limits *limits, const char *text)
{
	for (size_t i = 0; i < FIGURE_COUNT; i++) {
		if (strcmp(text, figures[i].name) == 0) {
			limits->judged = i;
			return 0;
		}
	}
	error_value("invalid value for --judge:", text,
		    " (expected p99, p95, p90, median, mean or max)");
	return EINVAL;
}

static error_t parse_alarm_range(const char *subject, const char *text,
				 struct alarm_range *ret_range)
{
	int ret = alarm_range_parse(text, ret_range);

	if (ret == 0)
		return 0;
	error_value(subject, text,
		    ret == -ERANGE ? " (the start is above the end, or a number is too large)" :
				     " (expected [@][START:][END], in milliseconds)");
	return EINVAL;
}

error_t limits_parse_warning(struct limits *limits, const char *text)
{
	limits->has_warning = true;
	limits->warning_text = text;
	return parse_alarm_range("invalid value for --warning:", text, &limits->warning);
}

error_t limits_parse_critical(struct limits *limits, const char *text)
{
	limits->has_critical = true;
	limits->critical_text = text;
	return parse_alarm_range("invalid value for --critical:", text, &limits->critical);
}

/* -- the figure -- */

static uint64_t figure_ns(enum judged judged, const struct latency *latency)
{
	switch (judged) {
	case JUDGED_P99:
		return latency_percentile(latency, 99);
	case JUDGED_P95:
		return latency_percentile(latency, 95);
	case JUDGED_P90:
		return latency_percentile(latency, 90);
	case JUDGED_MEDIAN:
		return latency_percentile(latency, 50);
	case JUDGED_MEAN:
		return latency->count ? latency->total / latency->count : 0;
	case JUDGED_MAX:
		return latency->max;
	}
	return 0;
}

/* Too few for the 99th percentile that is judged. */
static bool are_few(const struct limits *limits, const struct latency *latency)
{
	return limits->judged == JUDGED_P99 && latency->count && latency->count < FSYNCS_MIN;
}

static void warn_of_few(const struct limits *limits, const struct latency *latency)
{
	if (are_few(limits, latency))
		warning("the 99th percentile of %" PRIu64
			" fsyncs is the slowest one: judge %d or more, or another figure",
			latency->count, FSYNCS_MIN);
}

bool limits_check(const struct limits *limits, const struct latency *latency, bool quiet)
{
	uint64_t found_ns = figure_ns(limits->judged, latency);
	char found[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];

	if (!limits->max_ns)
		return false;
	warn_of_few(limits, latency);
	if (found_ns <= limits->max_ns)
		return false;
	(quiet ? error : warning)("%s is %s, above %s", figures[limits->judged].words,
				  format_time(found, found_ns), format_time(limit, limits->max_ns));
	return true;
}

/* -- a monitoring plugin -- */

static double milliseconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / NANOSECONDS_PER_MILLISECOND;
}

static int plugin_status(const struct limits *limits, double value)
{
	if (limits->has_critical && alarm_range_alerts(&limits->critical, value))
		return STATUS_PLUGIN_CRITICAL;
	if (limits->has_warning && alarm_range_alerts(&limits->warning, value))
		return STATUS_PLUGIN_WARNING;
	return STATUS_PLUGIN_OK;
}

static const char *status_name(int status)
{
	static const char *const names[] = {
		[STATUS_PLUGIN_OK] = "OK",
		[STATUS_PLUGIN_WARNING] = "WARNING",
		[STATUS_PLUGIN_CRITICAL] = "CRITICAL",
	};

	return names[status];
}

/* The ranges belong to the figure that is judged. */
static void print_figure(const struct limits *limits, enum judged judged,
			 const struct latency *latency)
{
	bool is_judged = judged == limits->judged;

	printf(" %s=%.6fms;%s;%s;0;", figures[judged].name,
	       milliseconds(figure_ns(judged, latency)),
	       is_judged && limits->has_warning ? limits->warning_text : "",
	       is_judged && limits->has_critical ? limits->critical_text : "");
}

int limits_print_plugin(const struct limits *limits, const struct plugin_figures *plugin)
{
	const struct latency *latency = plugin->latency;
	double value = milliseconds(figure_ns(limits->judged, latency));
	int status = plugin_status(limits, value);

	warn_of_few(limits, latency);
	printf("LOG-STATS %s - %s of %" PRIu64 " fsyncs took %.3fms, %" PRIu64 " full commits",
	       status_name(status), figures[limits->judged].name, latency->count, value,
	       plugin->counts[FSYNC_FULL]);
	/* Monitoring keeps nothing but standard output. */
	if (are_few(limits, latency))
		printf(", only %" PRIu64 " fsyncs: p99 is the slowest one", latency->count);
	printf(" |");
	for (size_t i = 0; i < FIGURE_COUNT; i++)
		print_figure(limits, i, latency);
	printf(" fsyncs=%" PRIu64 ";;;0;", latency->count);
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		printf(" %s=%" PRIu64 ";;;0;%" PRIu64, fsync_kind_name(kind), plugin->counts[kind],
		       latency->count);
	putchar('\n');
	return status;
}

/* A "|" would begin the performance data, and the end of the line is that of the answer. */
int print_plugin_unknown(const char *otherwise)
{
	const char *reason = message_first_error();

	fputs("LOG-STATS UNKNOWN - ", stdout);
	for (const char *c = *reason ? reason : otherwise; *c; c++)
		putchar(*c == '|' || *c == '\n' ? '/' : *c);
	putchar('\n');
	return STATUS_PLUGIN_UNKNOWN;
}

/* -- JSON -- */

void limits_json(const struct limits *limits, const struct latency *latency,
		 struct json_writer *json)
{
	uint64_t value_ns = figure_ns(limits->judged, latency);

	if (!limits->max_ns) {
		json_add_null(json, "check");
		return;
	}
	json_begin_object(json, "check");
	json_add_string(json, "figure", figures[limits->judged].name);
	json_add_known_uint(json, "value_ns", latency->count, value_ns);
	json_add_uint(json, "limit_ns", limits->max_ns);
	if (latency->count)
		json_add_bool(json, "passed", value_ns <= limits->max_ns);
	else
		json_add_null(json, "passed");
	json_end_object(json);
}
