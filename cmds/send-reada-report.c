// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "send-reada-report.h"
#include "ui/quoted-name.h"
#include "ui/table.h"

/* -- text -- */

static const struct table_column command_columns[] = {
	{ "Command", 14, true },
	{ "Count", 10, false },
	{ "Stream", 10, false },
};

static void print_command(struct table *table, const char *name, uint64_t count, uint64_t bytes,
			  struct size_format sizes)
{
	table_begin_row(table);
	table_cell(table, name);
	table_number_cell(table, count);
	table_size_cell(table, bytes, sizes);
}

static int print_commands(const struct send_report *report)
{
	const struct send_tally *tally = &report->reading.tally;
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, command_columns);
	if (ret < 0)
		return ret;
	for (int i = 1; i < SEND_COMMAND_COUNT; i++)
		if (tally->counts[i])
			print_command(table, send_command_name(i), tally->counts[i],
				      tally->bytes[i], report->sizes);
	print_command(table, "total", tally->command_count, report->reading.stream.position,
		      report->sizes);
	return table_finish(table);
}

static const struct table_column pass_columns[] = {
	{ "Pass", 6, true },	   { "Elapsed", 9, false }, { "Commands/s", 10, false },
	{ "Reads", 8, false },	   { "Read", 10, false },   { "Mean read", 10, false },
	{ "In flight", 9, false }, { "Busy", 5, false },    { "Stream/s", 10, false },
};

#define PASS_COLUMN_COUNT (sizeof(pass_columns) / sizeof(pass_columns[0]))

/*
 * The last column is left out if the stream has no data: a rate of such a stream looks like that of
 * a real one, and is far from it.
 */
static bool has_stream_rate(const struct send_report *report)
{
	return !report->reading.tally.counts[SEND_UPDATE_EXTENT];
}

static void device_cells(struct table *table, const struct send_pass *pass,
			 struct size_format sizes)
{
	const struct device_stats *device = &pass->device;
	char text[UNITS_TEXT_SIZE];

	if (!pass->device_known || !pass->elapsed_ns) {
		for (int i = 0; i < 5; i++)
			table_cell(table, "-");
		return;
	}
	table_number_cell(table, device->reads);
	table_size_cell(table, device->read_bytes, sizes);
	if (device->reads)
		table_size_cell(table, device->read_bytes / device->reads, sizes);
	else
		table_cell(table, "-");
	snprintf(text, sizeof(text), "%.2f", (double)device->read_ns / pass->elapsed_ns);
	table_cell(table, text);
	snprintf(text, sizeof(text), "%.0f%%",
		 100.0 * device->busy_ns / pass->elapsed_ns / device->device_count);
	table_cell(table, text);
}

static void print_pass(struct table *table, const struct send_report *report,
		       const struct send_pass *pass)
{
	struct size_format sizes = report->sizes;
	char text[UNITS_TEXT_SIZE];

	table_begin_row(table);
	if (report->cold)
		snprintf(text, sizeof(text), "%s", pass->cold ? "cold" : "warm");
	else
		snprintf(text, sizeof(text), "%zu", (size_t)(pass - report->passes) + 1);
	table_cell(table, text);
	table_cell(table, format_time(text, pass->elapsed_ns));
	table_number_cell(table, per_second(pass->command_count, pass->elapsed_ns));
	device_cells(table, pass, sizes);
	if (has_stream_rate(report))
		table_size_cell(table, per_second(pass->stream_bytes, pass->elapsed_ns), sizes);
}

static int print_passes(const struct send_report *report)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = table_new(&table, pass_columns,
			has_stream_rate(report) ? PASS_COLUMN_COUNT : PASS_COLUMN_COUNT - 1);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < report->pass_count; i++)
		print_pass(table, report, &report->passes[i]);
	return table_finish(table);
}

static const struct table_column top_columns[] = { { "Bytes", 10, false }, { "Path", 0, true } };

static void print_top_file(struct table *table, const struct send_largest_file *file,
			   struct size_format sizes)
{
	table_begin_row(table);
	table_size_cell(table, file->bytes, sizes);
	table_cell(table, file->path ? file->path : "(longer than a path can be)");
}

static int print_top(const struct send_report *report)
{
	CLEANUP(table_freep) struct table *table = NULL;
	const struct send_largest_file *files;
	size_t count;
	int ret;

	if (!report->reading.top)
		return 0;
	count = send_largest_files_list(report->reading.top, &files);
	ret = TABLE_NEW(&table, top_columns);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++)
		print_top_file(table, &files[i], report->sizes);
	return table_finish(table);
}

static void print_name(const char *title, const char *name)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(name);

	printf("%s: %s\n", title, quoted);
}

static void print_head(const struct send_report *report)
{
	if (report->subvolume)
		print_name("Subvolume", report->subvolume);
	if (report->parent)
		print_name("Parent", report->parent);
	if (report->reading.stream.protocol)
		printf("Protocol: %" PRIu32 "\n", report->reading.stream.protocol);
}

static void print_sums(const struct send_report *report)
{
	struct size_format sizes = report->sizes;
	char first[UNITS_TEXT_SIZE], second[UNITS_TEXT_SIZE];

	printf("Data: %s\n", format_size(first, report->reading.tally.data_bytes, sizes));
	if (report->reading.tally.counts[SEND_UPDATE_EXTENT])
		printf("Stream with data: %s, estimated\n",
		       format_size(first, send_reading_estimated_bytes(&report->reading), sizes));
	if (report->pass_count && report->passes[0].device_known)
		printf("Metadata: %s in the subvolume's tree, %s read%s\n",
		       format_size(first, report->tree_bytes, sizes),
		       format_size(second, report->passes[0].device.read_bytes, sizes),
		       report->with_data ? ", data included" : "");
}

int send_report_print(const struct send_report *report)
{
	int ret;

	print_head(report);
	ret = print_commands(report);
	if (ret < 0)
		return ret;
	print_sums(report);
	ret = print_passes(report);
	if (ret == 0)
		ret = print_top(report);
	counter_delta_report(&report->counter_delta, NULL);
	return ret;
}

/* -- JSON -- */

static void json_commands(struct json_writer *json, const char *key, const struct send_tally *tally,
			  const uint64_t *values)
{
	json_begin_object(json, key);
	for (int i = 1; i < SEND_COMMAND_COUNT; i++)
		if (tally->counts[i])
			json_add_uint(json, send_command_name(i), values[i]);
	json_end_object(json);
}

static void json_device(struct json_writer *json, const struct send_pass *pass)
{
	const struct device_stats *device = &pass->device;

	if (!pass->device_known) {
		json_add_null(json, "device");
		return;
	}
	json_begin_object(json, "device");
	json_add_uint(json, "device_count", device->device_count);
	json_add_uint(json, "reads", device->reads);
	json_add_uint(json, "read_bytes", device->read_bytes);
	json_add_known_uint(json, "mean_read_bytes", device->reads,
			    device->reads ? device->read_bytes / device->reads : 0);
	json_add_uint(json, "read_ns", device->read_ns);
	json_add_uint(json, "busy_ns", device->busy_ns);
	json_end_object(json);
}

static void json_pass(struct json_writer *json, const struct send_pass *pass)
{
	json_add_uint(json, "elapsed_ns", pass->elapsed_ns);
	json_add_bool(json, "cold", pass->cold);
	json_device(json, pass);
}

static void json_passes(struct json_writer *json, const struct send_report *report)
{
	json_begin_array(json, "passes");
	for (size_t i = 0; i < report->pass_count; i++) {
		const struct send_pass *pass = &report->passes[i];

		json_begin_object(json, NULL);
		json_pass(json, pass);
		json_add_uint(json, "commands_per_second",
			      per_second(pass->command_count, pass->elapsed_ns));
		json_add_uint(json, "stream_bytes_per_second",
			      per_second(pass->stream_bytes, pass->elapsed_ns));
		json_end_object(json);
	}
	json_end_array(json);
}

static void json_top(struct json_writer *json, const struct send_report *report)
{
	const struct send_largest_file *files;
	size_t count;

	if (!report->reading.top) {
		json_add_null(json, "top");
		return;
	}
	count = send_largest_files_list(report->reading.top, &files);
	json_begin_array(json, "top");
	for (size_t i = 0; i < count; i++) {
		json_begin_object(json, NULL);
		json_add_name(json, "path", files[i].path);
		json_add_uint(json, "stream_bytes", files[i].bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

void send_report_json(const struct send_report *report, struct json_writer *json)
{
	const struct send_reading *reading = &report->reading;
	const struct send_tally *tally = &reading->tally;

	json_add_name(json, "subvolume", report->subvolume);
	json_add_name(json, "parent", report->parent);
	json_add_known_uint(json, "protocol", reading->stream.protocol, reading->stream.protocol);
	json_commands(json, "commands", tally, tally->counts);
	json_commands(json, "command_bytes", tally, tally->bytes);
	json_add_uint(json, "command_count", tally->command_count);
	json_add_uint(json, "stream_bytes", reading->stream.position);
	json_add_uint(json, "data_bytes", tally->data_bytes);
	json_add_uint(json, "estimated_bytes", send_reading_estimated_bytes(reading));
	json_add_known_uint(json, "full_estimated_bytes", report->forecast.is_incremental,
			    report->forecast.full_bytes);
	send_forecast_json(&report->forecast, json);
	json_pass(json, &report->passes[0]);
	json_add_known_uint(json, "metadata_bytes", report->tree_bytes, report->tree_bytes);
	json_passes(json, report);
	json_top(json, report);
	counter_delta_report(&report->counter_delta, json);
	if (report->error)
		json_add_string(json, "error", report->error);
}
