// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/plot.h"

static struct latency latency;

static int setup(void **state)
{
	(void)state;
	latency = (struct latency){ 0 };
	return 0;
}

static char *print(void)
{
	struct output out = { .format = FORMAT_TEXT };
	int ret;

	capture_begin();
	ret = histogram_report(&latency, "Calls", &out);
	if (ret < 0)
		printf("it fails with %d\n", ret);
	return capture_end();
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

TEST_WITH(test_no_call, setup, NULL)
{
	CLEANUP_FREE char *text = print();

	assert_string_equal(text, "");
}

/* From the fastest to the slowest call, both where they begin a step, with the empty ones between. */
TEST_WITH(test_rows, setup, NULL)
{
	CLEANUP_FREE char *text = NULL;

	latency_record(&latency, 4);
	latency_record(&latency, 16);
	text = print();
	assert_int_equal(count_of(text, "\n"), 4);
	assert_non_null(strstr(text, " 4ns "));
	assert_non_null(strstr(text, " 8ns "));
	assert_non_null(strstr(text, " 16ns "));
	assert_non_null(strstr(text, " 32ns "));
	assert_null(strstr(text, " 2ns "));
	assert_null(strstr(text, " 64ns "));
	assert_int_equal(count_of(text, "#"), 2 * 40);
	assert_non_null(strstr(text, " To      Calls\n"));
	assert_non_null(strstr(text, " 16ns          0\n"));
}

/* One call among a thousand is visible. */
TEST_WITH(test_shortest_bar, setup, NULL)
{
	CLEANUP_FREE char *text = NULL;

	for (int i = 0; i < 1000; i++)
		latency_record(&latency, 4);
	latency_record(&latency, 9);
	text = print();
	assert_int_equal(count_of(text, "#"), 40 + 1);
}

static char *as_json(const struct latency *calls)
{
	struct output out = { .format = FORMAT_JSON };
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	json_begin(&out.json, stream, JSON_DOCUMENT);
	assert_int_equal(histogram_report(calls, "Calls", &out), 0);
	json_end(&out.json);
	assert_int_equal(fclose(stream), 0);
	return text;
}

TEST_WITH(test_json, setup, NULL)
{
	CLEANUP_FREE char *none = as_json(NULL);
	CLEANUP_FREE char *text = NULL;

	assert_non_null(strstr(none, "\"histogram\": null"));
	latency_record(&latency, 4);
	latency_record(&latency, 16);
	latency_record(&latency, 31);
	text = as_json(&latency);
	/* steps without a call are left out */
	assert_int_equal(count_of(text, "low_ns"), 2);
	assert_non_null(strstr(text,
			       "\"low_ns\": 16,\n      \"high_ns\": 32,\n      \"count\": 2\n"));
}
