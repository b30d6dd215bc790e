// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cleanup.h"
#include "sys/clock.h"
#include "text/name-escape.h"
#include "ui/metrics.h"

struct family {
	const struct metric *metric;
	/* in memory */
	FILE *stream;
	char *samples;
	size_t size;
};

struct metrics {
	struct family **families;
	size_t count;
	struct metric_label label;
	bool is_incomplete;
	/* SIZE_MAX: without limit */
	size_t samples_left;
	size_t label_size_max;
	bool exceeds_limits;
};

struct metrics *metrics_new(void)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	if (metrics)
		metrics_set_limits(metrics, SIZE_MAX, SIZE_MAX);
	return metrics;
}

static void family_free(struct family *family)
{
	fclose(family->stream);
	free(family->samples);
	free(family);
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t i = 0; i < metrics->count; i++)
		family_free(metrics->families[i]);
	free(metrics->families);
	free(metrics);
}

void metrics_set_label(struct metrics *metrics, const char *name, const char *value)
{
	metrics->label = (struct metric_label){ name, value };
}

void metrics_set_limits(struct metrics *metrics, size_t samples, size_t label_size)
{
	metrics->samples_left = samples;
	metrics->label_size_max = label_size;
}

bool metrics_exceed_limits(const struct metrics *metrics)
{
	return metrics->exceeds_limits;
}

bool metrics_are_empty(const struct metrics *metrics)
{
	return !metrics->count;
}

static struct family *family_new(const struct metric *metric)
{
	struct family *family = calloc(1, sizeof(*family));

	if (!family)
		return NULL;
	family->metric = metric;
	family->stream = open_memstream(&family->samples, &family->size);
	if (!family->stream) {
		free(family);
		return NULL;
	}
	return family;
}

static struct family *add_family(struct metrics *metrics, const struct metric *metric)
{
	struct family **families;
	struct family *family;

	families = reallocarray(metrics->families, metrics->count + 1, sizeof(*families));
	if (!families)
		return NULL;
	metrics->families = families;
	family = family_new(metric);
	if (family)
		families[metrics->count++] = family;
	return family;
}

/* Once there are too many of them, no sample is kept, so that memory is bounded. */
static bool count_sample(struct metrics *metrics)
{
	if (metrics->exceeds_limits)
		return false;
	metrics->exceeds_limits = !metrics->samples_left;
	if (metrics->samples_left && metrics->samples_left != SIZE_MAX)
		metrics->samples_left--;
	return !metrics->exceeds_limits;
}

static struct family *find_family(struct metrics *metrics, const struct metric *metric)
{
	struct family *family;

	for (size_t i = 0; i < metrics->count; i++)
		if (metrics->families[i]->metric == metric)
			return metrics->families[i];
	family = add_family(metrics, metric);
	metrics->is_incomplete |= !family;
	return family;
}

static bool is_complete(const struct metrics *metrics)
{
	if (metrics->is_incomplete)
		return false;
	for (size_t i = 0; i < metrics->count; i++)
		if (fflush(metrics->families[i]->stream) || ferror(metrics->families[i]->stream))
			return false;
	return true;
}

/* NULL if there can be no sample. A histogram counts as one. */
static struct family *family_for_sample(struct metrics *metrics, const struct metric *metric)
{
	return metrics && count_sample(metrics) ? find_family(metrics, metric) : NULL;
}

/* -- samples -- */

/* A label without a value is left out. The value has no control characters after escape_name(). */
static void put_label(struct metrics *metrics, FILE *stream, const struct metric_label *label,
		      bool *any)
{
	CLEANUP_FREE char *value = NULL;

	if (!label->value)
		return;
	value = escape_name(label->value);
	metrics->is_incomplete |= !value;
	metrics->exceeds_limits |= value && strlen(value) > metrics->label_size_max;
	fprintf(stream, "%c%s=\"", *any ? ',' : '{', label->name);
	*any = true;
	for (const char *c = value; c && *c; c++) {
		if (*c == '"' || *c == '\\')
			putc('\\', stream);
		putc(*c, stream);
	}
	putc('"', stream);
}

/* The name with SUFFIX, and the labels; LAST can be NULL. */
static void begin_sample(struct metrics *metrics, const struct family *family, const char *suffix,
			 const struct metric_label *labels, const struct metric_label *last)
{
	FILE *stream = family->stream;
	bool any = false;

	fprintf(stream, "%s%s", family->metric->name, suffix);
	put_label(metrics, stream, &metrics->label, &any);
	for (; labels && labels->name; labels++)
		put_label(metrics, stream, labels, &any);
	if (last)
		put_label(metrics, stream, last, &any);
	if (any)
		putc('}', stream);
}

static void put_count(const struct family *family, uint64_t count)
{
	fprintf(family->stream, " %" PRIu64 "\n", count);
}

#define SECONDS_SIZE 32

static const char *format_seconds(char text[SECONDS_SIZE], uint64_t nanoseconds)
{
	uint64_t seconds = nanoseconds / NANOSECONDS_PER_SECOND;
	uint64_t rest = nanoseconds % NANOSECONDS_PER_SECOND;

	snprintf(text, SECONDS_SIZE, "%" PRIu64 ".%09" PRIu64, seconds, rest);
	return text;
}

static void put_seconds(const struct family *family, uint64_t nanoseconds)
{
	char text[SECONDS_SIZE];

	fprintf(family->stream, " %s\n", format_seconds(text, nanoseconds));
}

static const char *suffix_of(const struct metric *metric)
{
	switch (metric->type) {
	case METRIC_COUNTER:
		return "_total";
	case METRIC_INFO:
		return "_info";
	default:
		return "";
	}
}

void metrics_add(struct metrics *metrics, const struct metric *metric,
		 const struct metric_label *labels, uint64_t value)
{
	struct family *family = family_for_sample(metrics, metric);

	if (!family)
		return;
	begin_sample(metrics, family, suffix_of(metric), labels, NULL);
	put_count(family, value);
}

void metrics_add_ns(struct metrics *metrics, const struct metric *metric,
		    const struct metric_label *labels, uint64_t nanoseconds)
{
	struct family *family = family_for_sample(metrics, metric);

	if (!family)
		return;
	begin_sample(metrics, family, suffix_of(metric), labels, NULL);
	put_seconds(family, nanoseconds);
}

/* -- histograms -- */

/* Bins of latency_bin() for up to 2^FIRST ns, then each power of two, up to 2^LAST ns. */
#define FIRST_POWER 14
#define LAST_POWER 34

static void add_bucket(struct metrics *metrics, const struct family *family,
		       const struct metric_label *labels, const char *bound, uint64_t count)
{
	const struct metric_label le = { "le", bound };

	begin_sample(metrics, family, "_bucket", labels, &le);
	put_count(family, count);
}

static void add_buckets(struct metrics *metrics, const struct family *family,
			const struct metric_label *labels, const struct latency *latency)
{
	const uint64_t first = UINT64_C(1) << FIRST_POWER, last = UINT64_C(1) << LAST_POWER;
	char bound[SECONDS_SIZE];
	uint64_t count = 0;

	for (unsigned int i = 0; i < LATENCY_BINS; i++) {
		struct latency_bin bin = latency_bin(latency, i);

		count += bin.count;
		/* A call that took exactly HIGH_NS is not among those of the bin. */
		if (bin.high_ns >= first && bin.high_ns <= last)
			add_bucket(metrics, family, labels, format_seconds(bound, bin.high_ns - 1),
				   count);
	}
	add_bucket(metrics, family, labels, "+Inf", latency->count);
}

void metrics_add_histogram(struct metrics *metrics, const struct metric *metric,
			   const struct metric_label *labels, const struct latency *latency)
{
	struct family *family = family_for_sample(metrics, metric);

	if (!family)
		return;
	add_buckets(metrics, family, labels, latency);
	begin_sample(metrics, family, "_sum", labels, NULL);
	put_seconds(family, latency->total);
	begin_sample(metrics, family, "_count", labels, NULL);
	put_count(family, latency->count);
}

/* -- writing -- */

static const char *type_name(enum metric_type type, enum metrics_format format)
{
	switch (type) {
	case METRIC_COUNTER:
		return "counter";
	case METRIC_HISTOGRAM:
		return "histogram";
	case METRIC_INFO:
		return format == METRICS_OPENMETRICS ? "info" : "gauge";
	default:
		return "gauge";
	}
}

/* Prometheus names a family as its samples, OpenMetrics without their suffix. */
static void write_family(const struct family *family, FILE *stream, enum metrics_format format)
{
	const struct metric *metric = family->metric;
	const char *suffix = format == METRICS_PROMETHEUS ? suffix_of(metric) : "";

	fprintf(stream, "# HELP %s%s %s\n", metric->name, suffix, metric->help);
	fprintf(stream, "# TYPE %s%s %s\n", metric->name, suffix, type_name(metric->type, format));
	if (metric->unit && format == METRICS_OPENMETRICS)
		fprintf(stream, "# UNIT %s %s\n", metric->name, metric->unit);
	fwrite(family->samples, 1, family->size, stream);
}

static const char *unit_symbol(const struct metric *metric)
{
	if (!metric->unit)
		return metric->type == METRIC_COUNTER ? "c" : "";
	return strcmp(metric->unit, "bytes") == 0 ? "B" : "s";
}

/* The name of the sample at LINE, up to END: quoted, and without the characters that have a meaning there. */
static void write_performance_label(const char *line, const char *end, FILE *stream)
{
	fputs(" '", stream);
	for (; line < end; line++)
		if (*line == '=')
			putc(':', stream);
		else if (!strchr("\"'\\|", *line))
			putc(*line, stream);
	putc('\'', stream);
}

static void write_performance(const struct family *family, FILE *stream)
{
	const struct metric *metric = family->metric;
	const char *line = family->samples, *end;

	if (metric->type == METRIC_HISTOGRAM || metric->type == METRIC_INFO)
		return;
	for (; (end = strchr(line, '\n')); line = end + 1) {
		/* no value has a blank, but labels do */
		const char *value = memrchr(line, ' ', end - line);

		write_performance_label(line, value, stream);
		fprintf(stream, "=%.*s%s;;;0;", (int)(end - value - 1), value + 1,
			unit_symbol(metric));
	}
}

int metrics_write(const struct metrics *metrics, FILE *stream, enum metrics_format format)
{
	if (!is_complete(metrics))
		return -ENOMEM;
	for (size_t i = 0; i < metrics->count; i++)
		if (format == METRICS_NAGIOS)
			write_performance(metrics->families[i], stream);
		else
			write_family(metrics->families[i], stream, format);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", stream);
	return 0;
}

/* -- between processes -- */

/* What stands before the samples of a family. */
struct packed_family {
	const struct metric *metric;
	size_t size;
};

int metrics_pack(const struct metrics *metrics, FILE *stream)
{
	if (!is_complete(metrics))
		return -ENOMEM;
	for (size_t i = 0; i < metrics->count; i++) {
		const struct family *family = metrics->families[i];
		const struct packed_family packed = { family->metric, family->size };

		fwrite(&packed, sizeof(packed), 1, stream);
		fwrite(family->samples, 1, family->size, stream);
	}
	return 0;
}

int metrics_unpack(struct metrics *metrics, const char *packed, size_t size)
{
	while (size) {
		struct packed_family header;
		struct family *family;

		if (size < sizeof(header))
			return -EINVAL;
		memcpy(&header, packed, sizeof(header));
		packed += sizeof(header);
		size -= sizeof(header);
		if (header.size > size)
			return -EINVAL;
		family = find_family(metrics, header.metric);
		if (family)
			fwrite(packed, 1, header.size, family->stream);
		packed += header.size;
		size -= header.size;
	}
	return 0;
}
