// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/cleanup.h"
#include "test.h"
#include "ui/metrics.h"

static const struct metric size_metric = {
	.name = "x_size_bytes",
	.type = METRIC_GAUGE,
	.unit = "bytes",
	.help = "How large it is.",
};

static const struct metric count_metric = {
	.name = "x_calls",
	.type = METRIC_COUNTER,
	.help = "How often it was called.",
};

static const struct metric time_metric = {
	.name = "x_wait_seconds",
	.type = METRIC_GAUGE,
	.unit = "seconds",
	.help = "How long it waited.",
};

static const struct metric info_metric = {
	.name = "x_kernel",
	.type = METRIC_INFO,
	.help = "Which one it is.",
};

static const struct metric histogram_metric = {
	.name = "x_call_seconds",
	.type = METRIC_HISTOGRAM,
	.unit = "seconds",
	.help = "How long calls took.",
};

static struct metrics *metrics;

static int begin(void **state)
{
	(void)state;
	metrics = metrics_new();
	return metrics ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	metrics_free(metrics);
	return 0;
}

/* The caller frees it. */
static char *written(enum metrics_format format)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	assert_int_equal(metrics_write(metrics, stream, format), 0);
	assert_int_equal(fclose(stream), 0);
	return text;
}

static void expect(enum metrics_format format, const char *expected)
{
	CLEANUP_FREE char *text = written(format);

	assert_string_equal(text, expected);
}

TEST_WITH(test_nothing, begin, end)
{
	expect(METRICS_OPENMETRICS, "# EOF\n");
	expect(METRICS_PROMETHEUS, "");
}

/* Samples of a family stand together, whenever they were added. */
static void add_some(void)
{
	const struct metric_label a[] = { { "path", "a" }, { NULL, NULL } };
	const struct metric_label b[] = { { "path", "b" }, { "kind", "log" }, { NULL, NULL } };

	metrics_add(metrics, &size_metric, a, 4096);
	metrics_add(metrics, &count_metric, NULL, UINT64_MAX);
	metrics_add_ns(metrics, &time_metric, NULL, 1500000007);
	metrics_add(metrics, &size_metric, b, 0);
	metrics_add(metrics, &info_metric, a, 1);
}

TEST_WITH(test_openmetrics, begin, end)
{
	add_some();
	expect(METRICS_OPENMETRICS, "# HELP x_size_bytes How large it is.\n"
				    "# TYPE x_size_bytes gauge\n"
				    "# UNIT x_size_bytes bytes\n"
				    "x_size_bytes{path=\"a\"} 4096\n"
				    "x_size_bytes{path=\"b\",kind=\"log\"} 0\n"
				    "# HELP x_calls How often it was called.\n"
				    "# TYPE x_calls counter\n"
				    "x_calls_total 18446744073709551615\n"
				    "# HELP x_wait_seconds How long it waited.\n"
				    "# TYPE x_wait_seconds gauge\n"
				    "# UNIT x_wait_seconds seconds\n"
				    "x_wait_seconds 1.500000007\n"
				    "# HELP x_kernel Which one it is.\n"
				    "# TYPE x_kernel info\n"
				    "x_kernel_info{path=\"a\"} 1\n"
				    "# EOF\n");
}

TEST_WITH(test_prometheus, begin, end)
{
	add_some();
	expect(METRICS_PROMETHEUS, "# HELP x_size_bytes How large it is.\n"
				   "# TYPE x_size_bytes gauge\n"
				   "x_size_bytes{path=\"a\"} 4096\n"
				   "x_size_bytes{path=\"b\",kind=\"log\"} 0\n"
				   "# HELP x_calls_total How often it was called.\n"
				   "# TYPE x_calls_total counter\n"
				   "x_calls_total 18446744073709551615\n"
				   "# HELP x_wait_seconds How long it waited.\n"
				   "# TYPE x_wait_seconds gauge\n"
				   "x_wait_seconds 1.500000007\n"
				   "# HELP x_kernel_info Which one it is.\n"
				   "# TYPE x_kernel_info gauge\n"
				   "x_kernel_info{path=\"a\"} 1\n");
}

TEST_WITH(test_performance_data, begin, end)
{
	const struct metric_label odd[] = { { "path", "it's \"=\" |\n" }, { NULL, NULL } };
	const struct latency latency = { 0 };

	add_some();
	metrics_add(metrics, &size_metric, odd, 7);
	metrics_add_histogram(metrics, &histogram_metric, NULL, &latency);
	expect(METRICS_NAGIOS, " 'x_size_bytes{path:a}'=4096B;;;0;"
			       " 'x_size_bytes{path:b,kind:log}'=0B;;;0;"
			       " 'x_size_bytes{path:its : x0a}'=7B;;;0;"
			       " 'x_calls_total'=18446744073709551615c;;;0;"
			       " 'x_wait_seconds'=1.500000007s;;;0;");
}

TEST_WITH(test_labels, begin, end)
{
	const struct metric_label odd[] = { { "path", "q\" b\\ n\n \xff \xe2\x80\xae" },
					    { NULL, NULL } };

	metrics_set_label(metrics, "check", "mail \"1\"");
	metrics_add(metrics, &size_metric, odd, 1);
	metrics_add(metrics, &size_metric, NULL, 2);
	metrics_set_label(metrics, NULL, NULL);
	metrics_add(metrics, &size_metric, NULL, 3);
	expect(METRICS_PROMETHEUS,
	       "# HELP x_size_bytes How large it is.\n"
	       "# TYPE x_size_bytes gauge\n"
	       "x_size_bytes{check=\"mail \\\"1\\\"\",path=\"q\\\" b\\\\\\\\ n\\\\x0a"
	       " \\\\xff \\\\xe2\\\\x80\\\\xae\"} 1\n"
	       "x_size_bytes{check=\"mail \\\"1\\\"\"} 2\n"
	       "x_size_bytes 3\n");
}

TEST_WITH(test_labels_without_value, begin, end)
{
	const struct metric_label alone[] = { { "path", NULL }, { NULL, NULL } };
	const struct metric_label some[] = { { "path", NULL }, { "kind", "log" }, { NULL, NULL } };

	metrics_add(metrics, &size_metric, alone, 1);
	metrics_add(metrics, &size_metric, some, 2);
	expect(METRICS_PROMETHEUS, "# HELP x_size_bytes How large it is.\n"
				   "# TYPE x_size_bytes gauge\n"
				   "x_size_bytes 1\n"
				   "x_size_bytes{kind=\"log\"} 2\n");
}

/* The value of the bucket up to BOUND, which has to be there once. */
static uint64_t bucket(const char *text, const char *bound)
{
	CLEANUP_FREE char *sample = NULL;
	const char *found;

	assert_true(asprintf(&sample, "x_call_seconds_bucket{path=\"a\",le=\"%s\"} ", bound) > 0);
	found = strstr(text, sample);
	assert_non_null(found);
	assert_null(strstr(found + 1, sample));
	return strtoull(found + strlen(sample), NULL, 10);
}

static unsigned int count_lines(const char *text)
{
	unsigned int count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

TEST_WITH(test_histogram, begin, end)
{
	const struct metric_label labels[] = { { "path", "a" }, { NULL, NULL } };
	CLEANUP_FREE struct latency *latency = calloc(1, sizeof(*latency));
	CLEANUP_FREE char *text = NULL;

	assert_non_null(latency);
	latency_record(latency, 1);
	latency_record(latency, 16383);
	latency_record(latency, 16384);
	latency_record(latency, 1000000000);
	latency_record(latency, 3600000000000);
	metrics_add_histogram(metrics, &histogram_metric, labels, latency);
	text = written(METRICS_OPENMETRICS);
	assert_int_equal(bucket(text, "0.000016383"), 2);
	assert_int_equal(bucket(text, "0.000032767"), 3);
	assert_int_equal(bucket(text, "0.536870911"), 3);
	assert_int_equal(bucket(text, "1.073741823"), 4);
	assert_int_equal(bucket(text, "17.179869183"), 4);
	assert_int_equal(bucket(text, "+Inf"), 5);
	assert_non_null(strstr(text, "x_call_seconds_sum{path=\"a\"} 3601.000032768\n"));
	assert_non_null(strstr(text, "x_call_seconds_count{path=\"a\"} 5\n"));
	/* HELP, TYPE and UNIT; 21 powers of two and +Inf; sum and count; EOF */
	assert_int_equal(count_lines(text), 3 + 22 + 2 + 1);
}

/* All buckets are there, so that those of several runs can be added up. */
TEST_WITH(test_empty_histogram, begin, end)
{
	CLEANUP_FREE struct latency *latency = calloc(1, sizeof(*latency));
	CLEANUP_FREE char *text = NULL;

	assert_non_null(latency);
	metrics_add_histogram(metrics, &histogram_metric, NULL, latency);
	text = written(METRICS_PROMETHEUS);
	assert_int_equal(count_lines(text), 2 + 22 + 2);
	assert_non_null(strstr(text, "x_call_seconds_count 0\n"));
}

TEST_WITH(test_limits, begin, end)
{
	const struct metric_label labels[] = { { "path", "abcde" }, { NULL, NULL } };

	metrics_set_limits(metrics, 2, 5);
	metrics_add(metrics, &size_metric, labels, 1);
	metrics_add_ns(metrics, &size_metric, NULL, 1);
	assert_false(metrics_exceed_limits(metrics));
	metrics_add(metrics, &size_metric, NULL, 3);
	assert_true(metrics_exceed_limits(metrics));
	expect(METRICS_PROMETHEUS, "# HELP x_size_bytes How large it is.\n"
				   "# TYPE x_size_bytes gauge\n"
				   "x_size_bytes{path=\"abcde\"} 1\n"
				   "x_size_bytes 0.000000001\n");
}

TEST_WITH(test_long_label, begin, end)
{
	const struct metric_label labels[] = { { "path", "abcde" }, { NULL, NULL } };

	metrics_set_limits(metrics, 10, 4);
	metrics_add(metrics, &size_metric, labels, 1);
	assert_true(metrics_exceed_limits(metrics));
}

/* Samples of a family that is there already come to the others. */
TEST_WITH(test_pack, begin, end)
{
	struct metrics *all = metrics_new();
	struct metrics *own = metrics;
	CLEANUP_FREE char *packed = NULL;
	size_t size;
	FILE *stream = open_memstream(&packed, &size);

	assert_non_null(all);
	assert_non_null(stream);
	metrics_add(own, &count_metric, NULL, 2);
	metrics_add(own, &size_metric, NULL, 3);
	assert_int_equal(metrics_pack(own, stream), 0);
	assert_int_equal(fclose(stream), 0);
	metrics_add(all, &size_metric, NULL, 1);
	assert_int_equal(metrics_unpack(all, packed, size), 0);
	metrics = all;
	expect(METRICS_PROMETHEUS, "# HELP x_size_bytes How large it is.\n"
				   "# TYPE x_size_bytes gauge\n"
				   "x_size_bytes 1\n"
				   "x_size_bytes 3\n"
				   "# HELP x_calls_total How often it was called.\n"
				   "# TYPE x_calls_total counter\n"
				   "x_calls_total 2\n");
	assert_int_equal(metrics_unpack(all, packed, size - 1), -EINVAL);
	assert_int_equal(metrics_unpack(all, packed, 1), -EINVAL);
	metrics = own;
	metrics_free(all);
}
