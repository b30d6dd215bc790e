// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/saturating.h"
#include "sys/cleanup.h"
#include "text/units.h"
#include "ui/progress.h"
#include "ui/record.h"
#include "ui/table.h"

struct output output_of(const struct global_options *global)
{
	return (struct output){
		.format = global->metrics ? FORMAT_OPENMETRICS : global->format,
		.sizes = global->sizes,
		.metrics = global->metrics,
	};
}

struct output output_begin(const struct global_options *global)
{
	struct output out = output_of(global);

	if (global->json)
		json_begin(&out.json, stdout, global->json_style);
	return out;
}

void record_say(const struct output *out, const char *format, ...)
{
	va_list arguments;

	if (out->format != FORMAT_TEXT)
		return;
	progress_clear();
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
}

/* -- values -- */

static const void *value_of(const struct field *field, const void *row)
{
	return (const char *)row + field->offset;
}

static uint64_t number_of(const struct field *field, const void *row)
{
	return *(const uint64_t *)value_of(field, row);
}

static const char *text_of(const struct field *field, const void *row)
{
	return *(const char *const *)value_of(field, row);
}

static bool bool_of(const struct field *field, const void *row)
{
	return *(const bool *)value_of(field, row);
}

static const char *const *names_of(const struct field *field, const void *row)
{
	static const char *const none[] = { NULL };
	const char *const *names = *(const char *const *const *)value_of(field, row);

	return names ? names : none;
}

static uint32_t flags_of(const struct field *field, const void *row)
{
	return *(const uint32_t *)value_of(field, row);
}

static enum answer answer_in(const struct field *field, const void *row)
{
	return *(const enum answer *)value_of(field, row);
}

static bool is_set(const void *row, size_t offset)
{
	return offset && *(const bool *)((const char *)row + offset);
}

static bool is_text(const struct field *field)
{
	return field->type == FIELD_TEXT || field->type == FIELD_PATH;
}

static bool is_known(const struct field *field, const void *row)
{
	if (field->known && !is_set(row, field->known))
		return false;
	if (field->zero_is_unknown)
		return number_of(field, row);
	if (field->type == FIELD_ANSWER)
		return answer_in(field, row) != ANSWER_UNKNOWN;
	return !is_text(field) || text_of(field, row);
}

uint64_t field_figure(const struct field *field, const void *row)
{
	return is_text(field) ? 0 : number_of(field, row);
}

void record_add(void *total, const struct field *fields, const void *row)
{
	for (; fields->type; fields++) {
		uint64_t *sum = (uint64_t *)((char *)total + fields->offset);

		/* The sum of sparse files can exceed 64 bits. */
		if (fields->type >= FIELD_NUMBER && fields->type <= FIELD_TIME)
			*sum = saturating_add(*sum, number_of(fields, row));
	}
}

const char *names_text(char text[NAMES_TEXT_SIZE], const char *const *names)
{
	size_t length = 0;

	for (; *names && length < NAMES_TEXT_SIZE; names++)
		length += snprintf(text + length, NAMES_TEXT_SIZE - length, "%s%s",
				   length ? "," : "", *names);
	return length ? text : "-";
}

/* -- JSON -- */

static void add_member(struct json_writer *json, const struct field *field, const void *row)
{
	if (!is_known(field, row)) {
		json_add_null(json, field->key);
		return;
	}
	switch (field->type) {
	case FIELD_BOOL:
		json_add_bool(json, field->key, bool_of(field, row));
		return;
	case FIELD_SIGNED:
		json_add_int(json, field->key, *(const int64_t *)value_of(field, row));
		return;
	case FIELD_ANSWER:
		json_add_answer(json, field->key, answer_in(field, row));
		return;
	case FIELD_TEXT:
		json_add_string(json, field->key, text_of(field, row));
		return;
	case FIELD_PATH:
		json_add_name(json, field->key, text_of(field, row));
		return;
	case FIELD_NAMES:
		json_add_names(json, field->key, names_of(field, row));
		return;
	case FIELD_EXTENT_FLAGS:
		json_add_extent_flags(json, field->key, flags_of(field, row));
		return;
	case FIELD_OBJECT:
		json_begin_object(json, field->key);
		return;
	default:
		json_add_uint(json, field->key, number_of(field, row));
		return;
	}
}

static const struct field *end_of_object(const struct field *field)
{
	while (field->type != FIELD_OBJECT_END)
		field++;
	return field;
}

void record_members(struct output *out, const struct field *fields, const void *row)
{
	if (!out->json.stream)
		return;
	for (const struct field *field = fields; field->type; field++) {
		bool is_missing = field->optional && !is_known(field, row);

		if (field->type == FIELD_OBJECT_END)
			json_end_object(&out->json);
		else if (field->key && !is_missing)
			add_member(&out->json, field, row);
		if (field->type == FIELD_OBJECT && !is_known(field, row))
			field = end_of_object(field);
	}
}

void record_object(struct output *out, const char *key, const struct field *fields, const void *row)
{
	if (!row) {
		json_add_null(&out->json, key);
		return;
	}
	json_begin_object(&out->json, key);
	record_members(out, fields, row);
	json_end_object(&out->json);
}

/* -- OpenMetrics -- */

#define LABELS_MAX 4

/* The label of FIELD, and the texts of ROW that are labels. */
static void find_labels(struct metric_label labels[LABELS_MAX + 1], const struct field *field,
			const struct field *fields, const void *row)
{
	size_t count = 0;

	if (field->label.name && !is_text(field))
		labels[count++] = field->label;
	for (; fields->type && count < LABELS_MAX; fields++)
		if (is_text(fields) && fields->label.name)
			labels[count++] = (struct metric_label){
				fields->label.name,
				is_known(fields, row) ? text_of(fields, row) : NULL,
			};
	labels[count] = (struct metric_label){ NULL, NULL };
}

static void add_sample(struct metrics *metrics, const struct field *field,
		       const struct metric_label *labels, const void *row)
{
	switch (field->type) {
	case FIELD_HISTOGRAM:
		metrics_add_histogram(metrics, field->metric, labels, value_of(field, row));
		return;
	case FIELD_TIME:
		metrics_add_ns(metrics, field->metric, labels, number_of(field, row));
		return;
	case FIELD_BOOL:
		metrics_add(metrics, field->metric, labels, bool_of(field, row));
		return;
	case FIELD_ANSWER:
		metrics_add(metrics, field->metric, labels, answer_in(field, row) == ANSWER_YES);
		return;
	case FIELD_TEXT:
	case FIELD_PATH:
		metrics_add(metrics, field->metric, labels, 1);
		return;
	default:
		metrics_add(metrics, field->metric, labels, number_of(field, row));
		return;
	}
}

void record_samples(struct output *out, const struct field *fields, const void *row)
{
	struct metric_label labels[LABELS_MAX + 1];

	if (!out->metrics)
		return;
	for (const struct field *field = fields; field->type; field++) {
		if (!field->metric || !is_known(field, row))
			continue;
		find_labels(labels, field, fields, row);
		add_sample(out->metrics, field, labels, row);
	}
}

/* -- tables -- */

struct rows {
	struct output *out;
	const struct field *fields;
	/* in JSON; NULL: there is no array */
	const char *key;
	/* in text, else NULL */
	struct table *table;
	size_t column_count;
	/* the fields that have a column, from the left */
	const struct field *columns[];
};

static bool is_left(const struct field *field)
{
	return field->type == FIELD_ANSWER || field->type == FIELD_NAMES ||
	       field->type == FIELD_EXTENT_FLAGS || is_text(field);
}

static unsigned int width_of(const struct field *field)
{
	static const unsigned int usual[] = {
		[FIELD_NUMBER] = 8,	   [FIELD_SIZE] = 10, [FIELD_TIME] = 9,
		[FIELD_ANSWER] = 6,	   [FIELD_TEXT] = 10, [FIELD_PATH] = 0,
		[FIELD_NAMES] = 10,	   [FIELD_RATIO] = 9, [FIELD_PERCENT] = 5,
		[FIELD_EXTENT_FLAGS] = 30,
	};

	return field->width ? field->width : usual[field->type];
}

static void insert_column(struct rows *rows, const struct field *field)
{
	size_t i = rows->column_count++;

	for (; i && rows->columns[i - 1]->place > field->place; i--)
		rows->columns[i] = rows->columns[i - 1];
	rows->columns[i] = field;
}

static int new_table(struct rows *rows, size_t field_count, unsigned int options)
{
	CLEANUP_FREE struct table_column *columns = calloc(field_count, sizeof(*columns));
	int ret;

	if (!columns)
		return -ENOMEM;
	for (const struct field *field = rows->fields; field->type; field++)
		if (field->title && (!field->option || field->option & options))
			insert_column(rows, field);
	for (size_t i = 0; i < rows->column_count; i++)
		columns[i] = (struct table_column){
			.name = rows->columns[i]->title,
			.width = width_of(rows->columns[i]),
			.left = is_left(rows->columns[i]),
		};
	ret = table_new(&rows->table, columns, rows->column_count);
	for (size_t i = 0; ret == 0 && i < rows->column_count; i++)
		table_shorten(rows->table, columns[i].name, rows->columns[i]->short_title);
	return ret;
}

int rows_new(struct rows **ret_rows, struct output *out, const char *key,
	     const struct field *fields, unsigned int options)
{
	size_t count = 0;
	struct rows *rows;
	int ret = 0;

	while (fields[count].type)
		count++;
	rows = calloc(1, sizeof(*rows) + count * sizeof(*rows->columns));
	if (!rows)
		return -ENOMEM;
	rows->out = out;
	rows->fields = fields;
	rows->key = key;
	if (out->format == FORMAT_TEXT)
		ret = new_table(rows, count, options);
	if (ret < 0) {
		free(rows);
		return ret;
	}
	if (key)
		json_begin_array(&out->json, key);
	*ret_rows = rows;
	return 0;
}

static void text_cell(struct table *table, const struct field *field, const char *text)
{
	if (field->alarm && strcmp(text, field->alarm) == 0)
		table_alarm(table);
	table_cell(table, text);
}

static const char *percent_text(char text[NAMES_TEXT_SIZE], const struct field *field,
				uint64_t percent)
{
	if (field->type == FIELD_PERCENT)
		snprintf(text, NAMES_TEXT_SIZE, "%" PRIu64 "%%", percent);
	else
		snprintf(text, NAMES_TEXT_SIZE, "%s%" PRIu64 ".%02" PRIu64,
			 field->prefix ? field->prefix : "", percent / 100, percent % 100);
	return text;
}

static void known_cell(const struct rows *rows, const struct field *field, const void *row)
{
	struct table *table = rows->table;
	char text[NAMES_TEXT_SIZE];

	switch (field->type) {
	case FIELD_SIZE:
		table_size_cell(table, number_of(field, row), rows->out->sizes);
		return;
	case FIELD_TIME:
		text_cell(table, field, format_time(text, number_of(field, row)));
		return;
	case FIELD_ANSWER:
		text_cell(table, field, answer_in(field, row) == ANSWER_YES ? "yes" : "no");
		return;
	case FIELD_TEXT:
	case FIELD_PATH:
		text_cell(table, field, text_of(field, row));
		return;
	case FIELD_NAMES:
		text_cell(table, field, names_text(text, names_of(field, row)));
		return;
	case FIELD_EXTENT_FLAGS:
		text_cell(table, field, format_extent_flags(text, flags_of(field, row)));
		return;
	case FIELD_RATIO:
	case FIELD_PERCENT:
		text_cell(table, field, percent_text(text, field, number_of(field, row)));
		return;
	default:
		table_number_cell(table, number_of(field, row));
		return;
	}
}

static void add_cell(const struct rows *rows, const struct field *field, const void *row)
{
	if (field->alarm && !*field->alarm)
		table_alarm(rows->table);
	if (is_set(row, field->spare))
		table_spare(rows->table);
	if (is_known(field, row))
		known_cell(rows, field, row);
	else
		text_cell(rows->table, field, field->unknown ? field->unknown : "-");
}

int rows_add(struct rows *rows, const void *row)
{
	if (rows->table) {
		table_begin_row(rows->table);
		for (size_t i = 0; i < rows->column_count; i++)
			add_cell(rows, rows->columns[i], row);
		return table_error(rows->table);
	}
	if (rows->key)
		record_object(rows->out, NULL, rows->fields, row);
	return 0;
}

int rows_begin_or_add(struct rows **rows, struct output *out, const struct field *fields,
		      unsigned int options, const void *row)
{
	int ret = *rows ? 0 : rows_new(rows, out, NULL, fields, options);

	return ret < 0 ? ret : rows_add(*rows, row);
}

void rows_flush(struct rows *rows)
{
	if (rows && rows->table)
		table_flush(rows->table);
}

int rows_end(struct rows **rows)
{
	int ret;

	if (!*rows)
		return 0;
	ret = table_end(&(*rows)->table);
	if ((*rows)->key)
		json_end_array(&(*rows)->out->json);
	free(*rows);
	*rows = NULL;
	return ret;
}
