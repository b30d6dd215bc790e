// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log-stats-judge.h"
#include "sys/clock.h"
#include "text/units.h"
#include "ui/exit-status.h"
#include "ui/message.h"
#include "ui/plugin.h"

struct figure {
	const char *name;
	const char *words;
	/* of a percentile */
	unsigned int percent;
};

static const struct figure figures[] = {
	[JUDGED_P99] = { "p99", "the 99th percentile", 99 },
	[JUDGED_P95] = { "p95", "the 95th percentile", 95 },
	[JUDGED_P90] = { "p90", "the 90th percentile", 90 },
	[JUDGED_MEDIAN] = { "median", "the median", 50 },
	[JUDGED_MEAN] = { "mean", "the mean", 0 },
	[JUDGED_MAX] = { "max", "the slowest fsync", 0 },
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

error_t limits_parse_range(const char *option, const char *text, struct judged_range *ret_range)
{
	char subject[64];
	int ret = alarm_range_parse(text, &ret_range->range);

	ret_range->text = text;
	if (ret == 0)
		return 0;
	snprintf(subject, sizeof(subject), "invalid value for %s:", option);
	error_value(subject, text,
		    ret == -ERANGE ? " (the start is above the end, or a number is too large)" :
				     " (expected [@][START:][END], in milliseconds)");
	return EINVAL;
}

/* -- the figure -- */

static uint64_t figure_ns(enum judged judged, const struct latency *latency)
{
	if (judged == JUDGED_MEAN)
		return latency->count ? latency->total / latency->count : 0;
	if (judged == JUDGED_MAX)
		return latency->max;
	return latency_percentile(latency, figures[judged].percent);
}

/* Too few for this percentile, which is the slowest fsync then. */
static bool are_few(enum judged judged, const struct latency *latency)
{
	unsigned int percent = figures[judged].percent;

	return percent > 50 && latency->count && !latency_has_percentile(latency->count, percent);
}

static void warn_of_few(const struct limits *limits, const struct latency *latency)
{
	const struct figure *figure = &figures[limits->judged];

	if (are_few(limits->judged, latency))
		warning("with %" PRIu64 " fsyncs, %s is the slowest one: use %u or more, or "
			"another --judge",
			latency->count, figure->words, 100 / (100 - figure->percent));
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

static bool alerts(const struct judged_range *range, double value)
{
	return range->text && alarm_range_alerts(&range->range, value);
}

static int plugin_status(const struct limits *limits, double value)
{
	if (alerts(&limits->critical, value))
		return STATUS_PLUGIN_CRITICAL;
	return alerts(&limits->warning, value) ? STATUS_PLUGIN_WARNING : STATUS_PLUGIN_OK;
}

/* The ranges belong to the figure that is judged. */
static void print_figure(const struct limits *limits, enum judged judged,
			 const struct latency *latency)
{
	bool is_judged = judged == limits->judged;

	/* "U" is unknown to such a program. */
	if (!is_judged && are_few(judged, latency)) {
		printf(" %s=U;;;0;", figures[judged].name);
		return;
	}
	printf(" %s=%.6fms;%s;%s;0;", figures[judged].name,
	       milliseconds(figure_ns(judged, latency)),
	       is_judged && limits->warning.text ? limits->warning.text : "",
	       is_judged && limits->critical.text ? limits->critical.text : "");
}

int limits_print_plugin(const struct limits *limits, const struct fsync_exercise *exercise)
{
	const struct latency *latency = &exercise->latency;
	double value = milliseconds(figure_ns(limits->judged, latency));
	int status = plugin_status(limits, value);

	warn_of_few(limits, latency);
	plugin_begin("log-stats", status, "");
	printf("%s of %" PRIu64 " fsyncs took %.3fms, %" PRIu64 " full commits",
	       figures[limits->judged].name, latency->count, value,
	       exercise->kinds[FSYNC_FULL].count);
	/* Monitoring systems only keep standard output. */
	if (are_few(limits->judged, latency))
		printf(", only %" PRIu64 " fsyncs: %s is the slowest one", latency->count,
		       figures[limits->judged].name);
	printf(" |");
	for (size_t i = 0; i < FIGURE_COUNT; i++)
		print_figure(limits, i, latency);
	printf(" fsyncs=%" PRIu64 ";;;0;", latency->count);
	for (int kind = 0; kind < FSYNC_KINDS; kind++)
		printf(" %s=%" PRIu64 ";;;0;%" PRIu64, fsync_kind_name(kind),
		       exercise->kinds[kind].count, latency->count);
	putchar('\n');
	return status;
}

/* -- JSON -- */

struct limit_row {
	const char *figure;
	uint64_t value_ns;
	bool is_known;
	uint64_t limit_ns;
	enum answer passed;
};

#define LIMIT(member) offsetof(struct limit_row, member)

static const struct field limit_fields[] = {
	{ LIMIT(figure), FIELD_TEXT, .key = "figure", .help = "The name of the figure." },
	{ LIMIT(value_ns), FIELD_TIME, .key = "value_ns", .known = LIMIT(is_known),
	  .help = "The figure; null if there was no fsync." },
	{ LIMIT(limit_ns), FIELD_TIME, .key = "limit_ns", .help = "The limit." },
	{ LIMIT(passed), FIELD_ANSWER, .key = "passed",
	  .help = "Whether the figure is not above the limit; null if there was no fsync." },
	{ 0 },
};

void limits_report(const struct limits *limits, const struct latency *latency, struct output *out)
{
	uint64_t value_ns = figure_ns(limits->judged, latency);
	const struct limit_row row = {
		.figure = figures[limits->judged].name,
		.value_ns = value_ns,
		.is_known = latency->count,
		.limit_ns = limits->max_ns,
		.passed = answer_of(latency->count, value_ns <= limits->max_ns),
	};

	record_object(out, "check", limit_fields, limits->max_ns ? &row : NULL);
}
