// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "sys/cleanup.h"
#include "test.h"
#include "ui/record.h"

/* What --wrap replaces: the terminal that the table is printed on, 0: none. */
static size_t width_of_terminal;

size_t __wrap_terminal_width(void);
size_t __wrap_terminal_width(void)
{
	return width_of_terminal;
}

bool __wrap_terminal_has_colours(void);
bool __wrap_terminal_has_colours(void)
{
	return width_of_terminal;
}

static const struct metric size_metric = { "x_bytes", METRIC_GAUGE, "bytes", "Its size." };
static const struct metric time_metric = { "x_seconds", METRIC_GAUGE, "seconds", "Its time." };

struct row {
	uint64_t size;
	bool has_size;
	bool is_total;
	uint64_t count;
	uint64_t time;
	enum answer answer;
	const char *text;
	const char *path;
	const char *const *names;
};

#define ROW(member) offsetof(struct row, member)
#define COLUMN_COUNT 2

static const struct field fields[] = {
	{ ROW(path), FIELD_PATH, .key = "path", .title = "Path", .place = 1, .unknown = "total",
	  .label.name = "path" },
	{ ROW(size), FIELD_SIZE, .key = "size_bytes", .title = "Size", .known = ROW(has_size),
	  .alarm = "", .metric = &size_metric, .label = { "type", "data" } },
	{ ROW(count), FIELD_NUMBER, .key = "count", .title = "Count of all", .short_title = "Cnt",
	  .option = COLUMN_COUNT },
	{ ROW(time), FIELD_TIME, .key = "time_ns", .title = "Time", .known = ROW(has_size),
	  .metric = &time_metric },
	{ ROW(answer), FIELD_ANSWER, .key = "answer", .title = "Answer", .alarm = "yes",
	  .unknown = "?" },
	{ ROW(text), FIELD_TEXT, .title = "Text", .width = 6 },
	{ ROW(text), FIELD_TEXT, .key = "text" },
	{ ROW(names), FIELD_NAMES, .key = "names", .title = "Names", .spare = ROW(is_total) },
	{ 0 },
};

static const char *const two_names[] = { "x", "y", NULL };

static const struct row known_row = {
	.size = 2048,
	.has_size = true,
	.count = 7,
	.time = 1500000,
	.answer = ANSWER_YES,
	.text = "yes",
	.path = "a",
	.names = two_names,
};

static const struct row unknown_row = { .size = 1, .time = 1 };

static struct output text_output(void)
{
	return output_of(&(struct global_options){ .format = FORMAT_TEXT });
}

/* Both rows, with the columns of OPTIONS; the caller frees it. */
static char *print_rows(struct output *out, unsigned int options, size_t terminal)
{
	const char *const all_names[] = { "all the names that there are", NULL };
	struct row total = unknown_row;
	struct rows *rows = NULL;
	int failed = 0;

	total.is_total = true;
	total.names = all_names;
	width_of_terminal = terminal;
	capture_begin();
	failed |= rows_new(&rows, out, "rows", fields, options);
	failed |= rows_add(rows, &known_row);
	rows_flush(rows);
	failed |= rows_add(rows, terminal ? &total : &unknown_row);
	failed |= rows_end(&rows);
	record_say(out, "%d rows\n", 2);
	failed |= rows != NULL || rows_end(&rows);
	width_of_terminal = 0;
	return failed ? (free(capture_end()), NULL) : capture_end();
}

TEST(test_table)
{
	struct output out = text_output();
	CLEANUP_FREE char *all = print_rows(&out, COLUMN_COUNT, 0);
	CLEANUP_FREE char *some = print_rows(&out, 1, 0);

	assert_non_null(all);
	assert_string_equal(all,
			    "      Size  Count of all      Time Answer  Text   Names      Path\n"
			    "   2.00KiB             7    1.50ms yes     yes    x,y        a\n"
			    "         -             0         - ?       -      -          total\n"
			    "2 rows\n");
	assert_non_null(some);
	assert_string_equal(some, "      Size      Time Answer  Text   Names      Path\n"
				  "   2.00KiB    1.50ms yes     yes    x,y        a\n"
				  "         -         - ?       -      -          total\n"
				  "2 rows\n");
}

/* An alarm has a colour if it is one, short titles are used, and what can be spared is. */
TEST(test_narrow_terminal)
{
	struct output out = text_output();
	CLEANUP_FREE char *text = print_rows(&out, COLUMN_COUNT, 48);

	assert_non_null(text);
	assert_non_null(strstr(text, " Cnt "));
	assert_non_null(strstr(text, "\033[31m2.00KiB\033["));
	assert_non_null(strstr(text, "\033[31myes   \033["));
	assert_null(strstr(text, "\033[31m-"));
	assert_null(strstr(text, "\033[31m?"));
	assert_null(strstr(text, "all the names"));
	/* the cell of Text has the same word as that of Answer, and is no alarm */
	assert_null(strstr(strstr(text, "\033[31myes") + 1, "\033[31myes"));
}

static char *write_json(enum json_style style)
{
	struct output out = { .format = style == JSON_LINES ? FORMAT_NDJSON : FORMAT_JSON };
	char *printed, *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	json_begin(&out.json, stream, style);
	json_begin_object(&out.json, "row");
	record_members(&out, fields, &known_row);
	json_end_object(&out.json);
	printed = print_rows(&out, COLUMN_COUNT, 0);
	assert_non_null(printed);
	assert_string_equal(printed, "");
	free(printed);
	json_end(&out.json);
	assert_int_equal(fclose(stream), 0);
	return text;
}

#define KNOWN_OBJECT                                                           \
	"{\"path\":\"a\",\"size_bytes\":2048,\"count\":7,\"time_ns\":1500000," \
	"\"answer\":true,\"text\":\"yes\",\"names\":[\"x\",\"y\"]}"
#define UNKNOWN_OBJECT                                                     \
	"{\"path\":null,\"size_bytes\":null,\"count\":0,\"time_ns\":null," \
	"\"answer\":null,\"text\":null,\"names\":[]}"

TEST(test_json)
{
	CLEANUP_FREE char *lines = write_json(JSON_LINES);
	CLEANUP_FREE char *document = write_json(JSON_DOCUMENT);

	assert_string_equal(lines, "{\"__header\":{\"version\":\"1\"},\"row\":" KNOWN_OBJECT
				   ",\"rows\":[" KNOWN_OBJECT "," UNKNOWN_OBJECT "]}\n");
	assert_non_null(strstr(document, "      \"count\": 0,\n"
					 "      \"time_ns\": null,\n"));
}

/* Rows without a key are none of JSON's. */
TEST(test_rows_of_text_alone)
{
	struct output out = { .format = FORMAT_NDJSON };
	CLEANUP_FREE char *text = NULL;
	struct rows *rows;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	json_begin(&out.json, stream, JSON_LINES);
	assert_int_equal(rows_new(&rows, &out, NULL, fields, 0), 0);
	assert_int_equal(rows_add(rows, &known_row), 0);
	rows_flush(rows);
	assert_int_equal(rows_end(&rows), 0);
	json_end(&out.json);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(text, "{\"__header\":{\"version\":\"1\"}}\n");
}

TEST(test_metrics)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	struct output out = output_of(&(struct global_options){ .metrics = metrics });
	CLEANUP_FREE char *printed = NULL;
	CLEANUP_FREE char *text = NULL;
	struct row no_path = known_row;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	no_path.path = NULL;
	record_samples(&out, fields, &known_row);
	record_samples(&out, fields, &unknown_row);
	record_samples(&out, fields, &no_path);
	record_members(&out, fields, &known_row);
	printed = print_rows(&out, 0, 0);
	assert_string_equal(printed, "");
	assert_int_equal(metrics_write(metrics, stream, METRICS_OPENMETRICS), 0);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(text, "# HELP x_bytes Its size.\n"
				  "# TYPE x_bytes gauge\n"
				  "# UNIT x_bytes bytes\n"
				  "x_bytes{type=\"data\",path=\"a\"} 2048\n"
				  "x_bytes{type=\"data\"} 2048\n"
				  "# HELP x_seconds Its time.\n"
				  "# TYPE x_seconds gauge\n"
				  "# UNIT x_seconds seconds\n"
				  "x_seconds{path=\"a\"} 0.001500000\n"
				  "x_seconds 0.001500000\n"
				  "# EOF\n");
}

struct group {
	uint64_t before;
	bool has_parts;
	uint64_t ratio;
	uint64_t part;
	uint64_t after;
};

#define GROUP(member) offsetof(struct group, member)

static const struct field group_fields[] = {
	{ GROUP(before), FIELD_PERCENT, .key = "before", .title = "Before" },
	{ GROUP(has_parts), FIELD_OBJECT, .key = "parts", .known = GROUP(has_parts) },
	{ GROUP(ratio), FIELD_RATIO, .key = "ratio_percent", .title = "Ratio", .prefix = "<" },
	{ GROUP(part), FIELD_NUMBER, .key = "part" },
	{ 0, FIELD_OBJECT_END, .key = NULL },
	{ GROUP(after), FIELD_RATIO, .key = "after", .title = "After", .known = GROUP(has_parts) },
	{ 0 },
};

static const struct group groups[] = { { 7, true, 105, 3, 1234 }, { 100, false, 5, 3, 1 } };

static char *print_groups(struct output *out)
{
	struct rows *rows;

	capture_begin();
	assert_int_equal(rows_new(&rows, out, "groups", group_fields, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		assert_int_equal(rows_add(rows, &groups[i]), 0);
	assert_int_equal(rows_end(&rows), 0);
	return capture_end();
}

/* A table has all columns of an object, and JSON has none of its members while it is unknown. */
TEST(test_object_within_a_row)
{
	struct output text = text_output(), lines = { .format = FORMAT_NDJSON };
	CLEANUP_FREE char *table = print_groups(&text);
	CLEANUP_FREE char *json = NULL;
	size_t size;
	FILE *stream = open_memstream(&json, &size);

	assert_string_equal(table, " Before     Ratio     After\n"
				   "     7%     <1.05     12.34\n"
				   "   100%     <0.05         -\n");
	assert_non_null(stream);
	json_begin(&lines.json, stream, JSON_LINES);
	free(print_groups(&lines));
	json_end(&lines.json);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(
		json, "{\"__header\":{\"version\":\"1\"},\"groups\":["
		      "{\"before\":7,\"parts\":{\"ratio_percent\":105,\"part\":3},\"after\":1234},"
		      "{\"before\":100,\"parts\":null,\"after\":null}]}\n");
}

static const struct metric state_metric = { "x_state", METRIC_INFO, NULL, "Its state." };
static const struct metric done_metric = { "x_done", METRIC_GAUGE, NULL, "Whether it is done." };
static const struct metric ready_metric = { "x_ready", METRIC_GAUGE, NULL, "Whether it is ready." };
static const struct metric call_metric = { "x_call_seconds", METRIC_HISTOGRAM, "seconds",
					   "Its calls." };

struct state {
	bool is_done;
	enum answer is_ready;
	int64_t change;
	uint32_t flags;
	const char *name;
	const char *hidden;
	const char *error;
	uint64_t count;
	bool has_error;
	struct latency calls;
};

#define STATE(member) offsetof(struct state, member)

static const struct field state_fields[] = {
	{ STATE(is_done), FIELD_BOOL, .key = "done", .metric = &done_metric },
	{ STATE(is_ready), FIELD_ANSWER, .metric = &ready_metric },
	{ STATE(change), FIELD_SIGNED, .key = "change" },
	{ STATE(flags), FIELD_EXTENT_FLAGS, .key = "flags", .title = "Flags", .width = 1 },
	{ STATE(name), FIELD_TEXT, .metric = &state_metric, .label.name = "name" },
	{ STATE(hidden), FIELD_TEXT, .known = STATE(has_error), .label.name = "hidden" },
	{ STATE(has_error), FIELD_OBJECT, .key = "why", .known = STATE(has_error),
	  .optional = true },
	{ STATE(error), FIELD_TEXT, .key = "error" },
	{ STATE(count), FIELD_NUMBER, .key = "count", .zero_is_unknown = true },
	{ 0, FIELD_OBJECT_END, .key = NULL },
	{ STATE(calls), FIELD_HISTOGRAM, .metric = &call_metric },
	{ 0 },
};

static const struct state states[] = {
	{ .is_done = true,
	  .is_ready = ANSWER_YES,
	  .change = -5,
	  .flags = 0x2001,
	  .name = "a",
	  .hidden = "h" },
	{ .is_ready = ANSWER_UNKNOWN, .change = 5, .error = "e", .has_error = true },
};

/* A member that does not exist is not null. */
TEST(test_members_that_need_not_exist)
{
	struct output out = { .format = FORMAT_NDJSON };
	CLEANUP_FREE char *json = NULL;
	size_t size;
	FILE *stream = open_memstream(&json, &size);

	assert_non_null(stream);
	json_begin(&out.json, stream, JSON_LINES);
	record_object(&out, "a", state_fields, &states[0]);
	record_object(&out, "b", state_fields, &states[1]);
	record_object(&out, "c", state_fields, NULL);
	json_end(&out.json);
	assert_int_equal(fclose(stream), 0);
	assert_string_equal(
		json,
		"{\"__header\":{\"version\":\"1\"},"
		"\"a\":{\"done\":true,\"change\":-5,\"flags\":[\"shared\",\"last\"]},"
		"\"b\":{\"done\":false,\"change\":5,\"flags\":[],\"why\":{\"error\":\"e\",\"count\":null}},"
		"\"c\":null}\n");
}

TEST(test_flags_in_a_table)
{
	struct output out = text_output();
	CLEANUP_FREE char *text = NULL;
	struct rows *rows;

	capture_begin();
	assert_int_equal(rows_new(&rows, &out, NULL, state_fields, 0), 0);
	assert_int_equal(rows_add(rows, &states[0]), 0);
	assert_int_equal(rows_add(rows, &states[1]), 0);
	assert_int_equal(rows_end(&rows), 0);
	text = capture_end();
	assert_string_equal(text, "Flags\nshared,last\n-\n");
}

/* An information is 1, what is unknown has no sample and no label, and a histogram has all of its own. */
TEST(test_samples_of_all_types)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	struct output out = output_of(&(struct global_options){ .metrics = metrics });
	CLEANUP_FREE char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	assert_non_null(stream);
	record_samples(&out, state_fields, &states[0]);
	record_samples(&out, state_fields, &states[1]);
	assert_int_equal(metrics_write(metrics, stream, METRICS_OPENMETRICS), 0);
	assert_int_equal(fclose(stream), 0);
	assert_non_null(strstr(text, "# TYPE x_done gauge\n"
				     "x_done{name=\"a\"} 1\n"
				     "x_done 0\n"
				     "# HELP x_ready Whether it is ready.\n"
				     "# TYPE x_ready gauge\n"
				     "x_ready{name=\"a\"} 1\n"
				     "# HELP x_state Its state.\n"
				     "# TYPE x_state info\n"
				     "x_state_info{name=\"a\"} 1\n"));
	assert_non_null(strstr(text, "x_call_seconds_bucket{name=\"a\",le=\"+Inf\"} 0\n"
				     "x_call_seconds_sum{name=\"a\"} 0.000000000\n"
				     "x_call_seconds_count{name=\"a\"} 0\n"));
}

/* What is of another format does nothing, at any depth and any number of times. */
TEST(test_other_formats)
{
	struct output out = text_output();
	CLEANUP_FREE char *text = NULL;

	capture_begin();
	for (int i = 0; i < 2 * JSON_DEPTH_MAX; i++) {
		json_begin_result(&out.json);
		json_begin_array(&out.json, "array");
		json_add_uint(&out.json, NULL, 1);
		json_add_name(&out.json, "name", "\xff");
	}
	json_fail_result(&out.json, "error");
	for (int i = 0; i < 3 * JSON_DEPTH_MAX; i++)
		json_end_result(&out.json);
	json_end(&out.json);
	record_members(&out, fields, &known_row);
	record_samples(&out, fields, &known_row);
	metrics_add(out.metrics, &size_metric, NULL, 1);
	metrics_add_ns(out.metrics, &size_metric, NULL, 1);
	text = capture_end();
	assert_string_equal(text, "");
	assert_int_equal(out.json.depth, 0);
}

TEST(test_names)
{
	const char *names[200] = { NULL };
	char text[NAMES_TEXT_SIZE];

	assert_string_equal(names_text(text, names), "-");
	for (size_t i = 0; i < ARRAY_SIZE(names) - 1; i++)
		names[i] = "ab";
	assert_int_equal(strlen(names_text(text, names)), NAMES_TEXT_SIZE - 1);
	assert_int_equal(strncmp(text, "ab,ab,ab", 8), 0);
	names[1] = NULL;
	assert_string_equal(names_text(text, names), "ab");
}

TEST(test_add)
{
	struct row total = { .count = UINT64_MAX - 1, .answer = ANSWER_NO };

	record_add(&total, fields, &known_row);
	record_add(&total, fields, &unknown_row);
	assert_int_equal(total.size, 2049);
	assert_int_equal(total.count, UINT64_MAX);
	assert_int_equal(total.time, 1500001);
	assert_int_equal(total.answer, ANSWER_NO);
	assert_null(total.path);
}
