/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_METRICS_H
#define FASTPATH_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "num/latency.h"
#include "sys/cleanup.h"

enum metric_type {
	/* a figure of now */
	METRIC_GAUGE,
	/* a count since some time in the past, which only grows */
	METRIC_COUNTER,
	/* how many calls took how long */
	METRIC_HISTOGRAM,
	/* always 1: the labels have the information */
	METRIC_INFO,
};

/* What a family of samples is about. A static object, since its address identifies it. */
struct metric {
	/* without the suffix _total or _info; ends with the unit, if there is one */
	const char *name;
	enum metric_type type;
	/* "bytes" or "seconds", or NULL */
	const char *unit;
	const char *help;
};

/* Lists of labels end with one whose NAME is NULL. */
struct metric_label {
	const char *name;
	/* any bytes: the sample has the result of escape_name(); NULL: the sample has no such label */
	const char *value;
};

enum metrics_format {
	/* OpenMetrics 1.0 */
	METRICS_OPENMETRICS,
	/* Prometheus' text format, which node_exporter reads from files */
	METRICS_PROMETHEUS,
	/* the performance data of a monitoring plugin, in a line: no histograms, and no information */
	METRICS_NAGIOS,
};

/*
 * Samples that were added in any order; they are written by family. metrics_write() returns an
 * error that occurred while they were added.
 */
struct metrics;

/* Returns an object without samples, or NULL without memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_FREEP(metrics_free, struct metrics)

/*
 * From now on each sample has this label first, until NAME is NULL. NAME and VALUE must stay as they
 * are as long.
 */
void metrics_set_label(struct metrics *metrics, const char *name, const char *value);

/*
 * Keep at most SAMPLES samples, where a histogram counts as one, and none with a label of more
 * than LABEL_SIZE bytes. What is too much is dropped, and metrics_exceed_limits() returns true.
 */
void metrics_set_limits(struct metrics *metrics, size_t samples, size_t label_size);
bool metrics_exceed_limits(const struct metrics *metrics);

/*
 * Write all samples to STREAM, for metrics_unpack() in a process that was forked from the same program
 * and so has the families at the same addresses. Returns 0, or -ENOMEM if a sample was lost.
 */
int metrics_pack(const struct metrics *metrics, FILE *stream);

/* Adds the samples of the SIZE bytes at PACKED. Returns 0, or -EINVAL if they are incomplete. */
int metrics_unpack(struct metrics *metrics, const char *packed, size_t size);

/* Whether there is no sample. */
bool metrics_are_empty(const struct metrics *metrics);

/* LABELS can be NULL. Without METRICS nothing is added. */
void metrics_add(struct metrics *metrics, const struct metric *metric,
		 const struct metric_label *labels, uint64_t value);
void metrics_add_ns(struct metrics *metrics, const struct metric *metric,
		    const struct metric_label *labels, uint64_t nanoseconds);
/*
 * Its buckets are the same whatever was measured: each power of two in nanoseconds, from 16 us to
 * 17 s.
 */
void metrics_add_histogram(struct metrics *metrics, const struct metric *metric,
			   const struct metric_label *labels, const struct latency *latency);

/*
 * Writes all samples to STREAM, whose errors the caller looks at. Families have the order in which
 * they got their first sample. Returns 0, or -ENOMEM, and has written nothing, if a sample was lost.
 */
int metrics_write(const struct metrics *metrics, FILE *stream, enum metrics_format format);

#endif
