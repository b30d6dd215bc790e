// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "fs/filesystem.h"
#include "send-reada-report.h"
#include "sys/clock.h"
#include "text/units.h"
#include "ui/message.h"

static const struct metric stream_metric = {
	"btrfs_fastpath_send_stream_bytes", METRIC_GAUGE, "bytes",
	"Estimated size of the stream with file data; a full one if there is no parent."
};
static const struct metric full_metric = {
	"btrfs_fastpath_send_full_stream_bytes", METRIC_GAUGE, "bytes",
	"Estimated size of a full stream of the same subvolume."
};
static const struct metric eta_metric = {
	"btrfs_fastpath_send_estimated_seconds", METRIC_GAUGE, "seconds",
	"How long the stream with file data takes at the rate of --rate."
};
static const struct metric time_metric = { "btrfs_fastpath_send_seconds", METRIC_GAUGE, "seconds",
					   "Time that the kernel took for this pass." };
static const struct metric read_metric = { "btrfs_fastpath_send_read_bytes", METRIC_GAUGE, "bytes",
					   "Bytes read from the devices in this pass." };

/* -- the commands -- */

struct command_row {
	const char *name;
	uint64_t count;
	uint64_t bytes;
};

#define COMMAND(member) offsetof(struct command_row, member)

static const struct field command_fields[] = {
	{ COMMAND(name), FIELD_TEXT, .title = "Command", .width = 14 },
	{ COMMAND(count), FIELD_NUMBER, .title = "Count", .width = 10 },
	{ COMMAND(bytes), FIELD_SIZE, .title = "Stream" },
	{ 0 },
};

static int report_commands(const struct send_reading *reading, struct output *out)
{
	const struct send_tally *tally = &reading->tally;
	struct command_row row;
	struct rows *rows;
	int ret = rows_new(&rows, out, NULL, command_fields, 0);

	if (ret < 0)
		return ret;
	for (int i = 1; i < SEND_COMMAND_COUNT; i++) {
		row = (struct command_row){ send_command_name(i), tally->counts[i],
					    tally->bytes[i] };
		if (row.count)
			rows_add(rows, &row);
	}
	row = (struct command_row){ "total", tally->command_count, reading->stream.position };
	rows_add(rows, &row);
	return rows_end(&rows);
}

static void add_by_command(struct json_writer *json, const char *key,
			   const struct send_tally *tally, const uint64_t *values)
{
	json_begin_object(json, key);
	for (int i = 1; i < SEND_COMMAND_COUNT; i++)
		if (tally->counts[i])
			json_add_uint(json, send_command_name(i), values[i]);
	json_end_object(json);
}

/* -- the stream -- */

#define REPORT(member) offsetof(struct send_report, member)
#define FORECAST(member) offsetof(struct send_report, forecast.member)

static const struct field name_fields[] = {
	{ REPORT(subvolume), FIELD_PATH, .key = "subvolume",
	  .help = "The subvolume as it was named; with --decode the first one in the stream, or null if there is none." },
	{ REPORT(parent), FIELD_PATH, .key = "parent",
	  .help = "The parent as it was named; null for a full send, and with --decode." },
	{ 0 },
};

static const struct field protocol_fields[] = {
	{ REPORT(reading.stream.protocol), FIELD_NUMBER, .key = "protocol", .zero_is_unknown = true,
	  .help = "The protocol of the stream; null if it has no header." },
	{ 0 },
};

static const struct field metadata_fields[] = {
	{ REPORT(tree_bytes), FIELD_SIZE, .key = "metadata_bytes", .zero_is_unknown = true,
	  .help = "The size of the subvolume's tree; null with --decode." },
	{ 0 },
};

static const struct field error_fields[] = {
	{ REPORT(error), FIELD_TEXT, .key = "error", .optional = true,
	  .help = "With --decode the damage of the stream. The key exists only if the stream is damaged." },
	{ 0 },
};

static const struct field stream_fields[] = {
	{ REPORT(subvolume), FIELD_PATH, .label.name = "subvolume" },
	{ REPORT(reading.tally.command_count), FIELD_NUMBER, .key = "command_count",
	  .help = "The number of all commands." },
	{ REPORT(reading.stream.position), FIELD_SIZE, .key = "stream_bytes",
	  .help = "The size of the stream, its header included." },
	{ REPORT(reading.tally.data_bytes), FIELD_SIZE, .key = "data_bytes",
	  .help = "The bytes of file data." },
	{ REPORT(estimated_bytes), FIELD_SIZE, .key = "estimated_bytes", .metric = &stream_metric,
	  .help = "The size of the stream with data." },
	{ FORECAST(full_bytes), FIELD_SIZE, .key = "full_estimated_bytes",
	  .known = FORECAST(is_compared),
	  .help = "With --estimate and a parent the size of a full stream, else null." },
	{ FORECAST(incremental_bytes), FIELD_SIZE, .key = "incremental_bytes",
	  .known = FORECAST(is_incremental),
	  .help = "With --estimate and a parent the size of the stream with the parent, else null." },
	{ FORECAST(full_bytes), FIELD_SIZE, .key = "full_bytes", .known = FORECAST(has_full),
	  .metric = &full_metric, .help = "With --estimate the size of a full stream, else null." },
	{ FORECAST(rate), FIELD_SIZE, .key = "rate_bytes_per_second", .known = FORECAST(has_rate),
	  .help = "With --rate the rate, else null." },
	{ FORECAST(rate_source), FIELD_TEXT, .key = "rate_source",
	  .help = "With --rate where the rate comes from, else null." },
	{ FORECAST(eta_ns), FIELD_TIME, .key = "eta_ns", .known = FORECAST(has_rate),
	  .metric = &eta_metric, .help = "With --rate the time that the stream takes, else null." },
	{ FORECAST(full_eta_ns), FIELD_TIME, .key = "full_eta_ns", .known = FORECAST(has_full_eta),
	  .help = "With --rate the time that a full stream takes, else null." },
	{ 0 },
};

/* -- what it is, and where it can be received -- */

struct identity_row {
	/* NULL: unknown, or there is none */
	const char *uuid;
	const char *parent_uuid;
	uint64_t ctransid;
	uint64_t parent_ctransid;
	bool is_known;
	bool has_parent;
	char uuid_text[FSID_TEXT_SIZE];
	char parent_uuid_text[FSID_TEXT_SIZE];
};

#define IDENTITY(member) offsetof(struct identity_row, member)

static const struct field identity_fields[] = {
	{ IDENTITY(uuid), FIELD_TEXT, .key = "uuid",
	  .help = "The UUID of the subvolume that is sent; null if the stream does not say it." },
	{ IDENTITY(ctransid), FIELD_NUMBER, .key = "ctransid", .known = IDENTITY(is_known),
	  .help = "The transaction of its last change; null if the stream does not say it." },
	{ IDENTITY(parent_uuid), FIELD_TEXT, .key = "parent_uuid",
	  .help = "The UUID of the parent; null for a full stream." },
	{ IDENTITY(parent_ctransid), FIELD_NUMBER, .key = "parent_ctransid",
	  .known = IDENTITY(has_parent),
	  .help = "The transaction of the parent's last change; null for a full stream." },
	{ 0 },
};

#define TARGET(member) offsetof(struct send_target, member)

static const struct field target_fields[] = {
	{ TARGET(directory), FIELD_PATH, .key = "path", .help = "The directory, as it was named." },
	{ TARGET(has_parent), FIELD_ANSWER, .key = "has_parent",
	  .help = "Whether it has the parent; null if the stream has none." },
	{ TARGET(parent_path), FIELD_PATH, .key = "parent_path",
	  .help = "The path of the parent from the top level; null if there is none." },
	{ TARGET(is_reachable), FIELD_BOOL, .key = "parent_reachable",
	  .help = "Whether the parent is below the mount, where btrfs receive looks for it." },
	{ 0 },
};

static void say_identity(const struct send_report *report, const struct identity_row *row,
			 const struct output *out)
{
	const struct send_target *target = &report->target;
	CLEANUP_QUOTED_NAME const char *directory = quoted_name(target->directory);
	CLEANUP_QUOTED_NAME const char *parent = quoted_name(target->parent_path);

	if (!report->is_decoded || !row->is_known)
		return;
	record_say(out, "UUID: %s, transaction %" PRIu64 "\n", row->uuid, row->ctransid);
	if (row->has_parent)
		record_say(out, "Parent: %s, transaction %" PRIu64 "\n", row->parent_uuid,
			   row->parent_ctransid);
	else
		record_say(out, "Parent: none, a full stream\n");
	if (target->directory && target->has_parent == ANSWER_YES)
		record_say(out, "Target: %s has the parent: %s%s\n", directory, parent,
			   target->is_reachable ?
				   "" :
				   ", but is mounted without it: btrfs receive would fail");
	else if (target->directory && target->has_parent == ANSWER_NO)
		record_say(out, "Target: %s does not have the parent: btrfs receive would fail\n",
			   directory);
}

static void report_identity(const struct send_report *report, struct output *out)
{
	const struct send_identity *identity = &report->reading.identity;
	struct identity_row row = {
		.ctransid = identity->ctransid,
		.parent_ctransid = identity->parent_ctransid,
		.is_known = identity->is_known,
		.has_parent = identity->has_parent,
	};

	if (row.is_known)
		row.uuid = filesystem_id_text(row.uuid_text, identity->uuid);
	if (row.has_parent)
		row.parent_uuid = filesystem_id_text(row.parent_uuid_text, identity->parent_uuid);
	say_identity(report, &row, out);
	record_members(out, identity_fields, &row);
	record_object(out, "target", target_fields,
		      report->target.directory ? &report->target : NULL);
}

static void say_name(const struct output *out, const char *title, const char *name)
{
	CLEANUP_QUOTED_NAME const char *quoted = name ? quoted_name(name) : NULL;

	if (name)
		record_say(out, "%s: %s\n", title, quoted);
}

static void say_sums(const struct send_report *report, const struct output *out)
{
	const struct send_tally *tally = &report->reading.tally;
	char size[UNITS_TEXT_SIZE], read[UNITS_TEXT_SIZE];

	record_say(out, "Data: %s\n", format_size(size, tally->data_bytes, out->sizes));
	if (tally->counts[SEND_UPDATE_EXTENT])
		record_say(out, "Stream with data: %s, estimated\n",
			   format_size(size, report->estimated_bytes, out->sizes));
	if (!report->passes[0].has_device)
		return;
	format_size(size, report->tree_bytes, out->sizes);
	format_size(read, report->passes[0].device.read_bytes, out->sizes);
	record_say(out, "Metadata: %s in the subvolume's tree, %s read%s\n",
		   report->tree_bytes ? size : "unknown", read,
		   report->with_data ? ", data included" : "");
}

static int report_contents(const struct send_report *report, struct output *out)
{
	const struct send_tally *tally = &report->reading.tally;
	uint64_t protocol = report->reading.stream.protocol;
	int ret;

	say_name(out, "Subvolume", report->subvolume);
	say_name(out, "Parent", report->parent);
	if (protocol)
		record_say(out, "Protocol: %" PRIu64 "\n", protocol);
	record_members(out, name_fields, report);
	report_identity(report, out);
	ret = report_commands(&report->reading, out);
	say_sums(report, out);

	record_members(out, protocol_fields, report);
	add_by_command(&out->json, "commands", tally, tally->counts);
	add_by_command(&out->json, "command_bytes", tally, tally->bytes);
	record_members(out, stream_fields, report);
	record_samples(out, stream_fields, report);
	return ret;
}

/* -- the passes -- */

/* Without data in the stream its rate looks like that of a real one, and is far from it. */
#define COLUMN_STREAM_RATE 1

#define PASS(member) offsetof(struct send_pass, member)

/* JSON has these of the first pass, too. */
// clang-format off
#define PASS_FIELDS \
	{ PASS(elapsed_ns), FIELD_TIME, .key = "elapsed_ns", .title = "Elapsed", .metric = &time_metric, \
	  .help = "How long it took; outside of passes, the first one." }, \
	{ PASS(cold), FIELD_ANSWER, .key = "cold", \
	  .help = "Whether the caches were dropped before it." }, \
	{ PASS(device), FIELD_OBJECT, .key = "device", .known = PASS(has_device), \
	  .help = "What it read from the devices; null if that is not known, and with --decode." }, \
	{ PASS(device.device_count), FIELD_NUMBER, .key = "device_count", \
	  .help = "The number of devices." }, \
	{ PASS(device.reads), FIELD_NUMBER, .key = "reads", .title = "Reads", .place = 2, \
	  .known = PASS(has_device), \
	  .help = "The number of reads." }, \
	{ PASS(device.read_bytes), FIELD_SIZE, .key = "read_bytes", .title = "Read", .place = 2, \
	  .known = PASS(has_device), .metric = &read_metric, \
	  .help = "The bytes that were read." }, \
	{ PASS(mean_read_bytes), FIELD_SIZE, .key = "mean_read_bytes", .title = "Mean read", .place = 2, \
	  .known = PASS(has_reads), \
	  .help = "The mean size of a read; null if there was none." }, \
	{ PASS(device.read_ns), FIELD_TIME, .key = "read_ns", \
	  .help = "The sum of the times of all reads." }, \
	{ PASS(device.busy_ns), FIELD_TIME, .key = "busy_ns", \
	  .help = "How long the devices were busy, summed over them." }, \
	{ PASS(device), FIELD_OBJECT_END, .key = NULL }
// clang-format on

static const struct field first_pass_fields[] = { PASS_FIELDS, { 0 } };

static const struct field pass_fields[] = {
	{ PASS(subvolume), FIELD_PATH, .label.name = "subvolume" },
	{ PASS(name), FIELD_TEXT, .title = "Pass", .width = 6 },
	{ PASS(caches), FIELD_TEXT, .label.name = "pass" },
	PASS_FIELDS,
	{ PASS(commands_per_second), FIELD_NUMBER, .key = "commands_per_second",
	  .title = "Commands/s", .width = 10, .place = 1, .known = PASS(has_command_rate),
	  .help = "The rate of commands; null if the time was too short to measure." },
	{ PASS(in_flight), FIELD_RATIO, .title = "In flight", .place = 2,
	  .known = PASS(has_device) },
	{ PASS(busy_percent), FIELD_PERCENT, .title = "Busy", .place = 2,
	  .known = PASS(has_device) },
	{ PASS(stream_bytes_per_second), FIELD_SIZE, .key = "stream_bytes_per_second",
	  .title = "Stream/s", .place = 3, .known = PASS(has_stream_rate),
	  .option = COLUMN_STREAM_RATE,
	  .help = "The rate of the stream; null without file data in it." },
	{ 0 },
};

/* A * 100 / B, to the nearest; 0 if B is 0 */
static uint64_t percent(uint64_t a, uint64_t b)
{
	uint64_t twice = b ? mul_div(a, 200, b) : 0;

	return twice / 2 + twice % 2;
}

static bool has_stream_rate(const struct send_report *report)
{
	return !report->reading.tally.counts[SEND_UPDATE_EXTENT];
}

static void name_pass(struct send_pass *pass, const struct send_report *report, size_t number)
{
	snprintf(pass->number, sizeof(pass->number), "%zu", number);
	pass->caches = pass->cold == ANSWER_YES ? "cold" : "warm";
	pass->name = report->passes[0].cold == ANSWER_YES ? pass->caches : pass->number;
}

static void compute_rates(struct send_pass *pass, const struct send_report *report)
{
	const struct device_stats *device = &pass->device;
	uint64_t elapsed_ns = pass->elapsed_ns;

	pass->subvolume = report->subvolume;
	pass->has_command_rate = elapsed_ns;
	pass->commands_per_second = per_second(pass->command_count, elapsed_ns);
	pass->has_stream_rate = has_stream_rate(report);
	pass->stream_bytes_per_second = per_second(pass->stream_bytes, elapsed_ns);
	if (!pass->has_device)
		return;
	pass->has_reads = device->reads;
	if (device->reads)
		pass->mean_read_bytes = device->read_bytes / device->reads;
	pass->in_flight = percent(device->read_ns, elapsed_ns);
	pass->busy_percent = percent(device->busy_ns, elapsed_ns * device->device_count);
}

static int report_passes(const struct send_report *report, struct output *out)
{
	struct rows *rows;
	int ret;

	for (size_t i = 0; i < report->pass_count; i++) {
		name_pass(&report->passes[i], report, i + 1);
		compute_rates(&report->passes[i], report);
	}
	record_members(out, first_pass_fields, &report->passes[0]);
	record_members(out, metadata_fields, report);
	ret = rows_new(&rows, out, "passes", pass_fields,
		       has_stream_rate(report) ? COLUMN_STREAM_RATE : 0);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < report->pass_count; i++) {
		const struct send_pass *pass = &report->passes[i];

		rows_add(rows, pass);
		/* Of warm passes the last one: two samples cannot have the same labels. */
		if (pass->cold == ANSWER_YES || i == report->pass_count - 1)
			record_samples(out, pass_fields, pass);
	}
	return rows_end(&rows);
}

/* -- --top -- */

#define TOP_FILE(member) offsetof(struct send_largest_file, member)

static const struct field top_fields[] = {
	{ TOP_FILE(path), FIELD_PATH, .key = "path", .title = "Path", .place = 1,
	  .unknown = "(path too long)",
	  .help = "Its path; null if it got longer than a path in a stream can be." },
	{ TOP_FILE(bytes), FIELD_SIZE, .key = "stream_bytes", .title = "Bytes",
	  .help = "Its bytes in the stream." },
	{ 0 },
};

static int report_top(struct send_largest_files *top, struct output *out)
{
	const struct send_largest_file *files;
	struct rows *rows;
	size_t count;
	int ret;

	if (!top) {
		json_add_null(&out->json, "top");
		return 0;
	}
	ret = rows_new(&rows, out, "top", top_fields, 0);
	if (ret < 0)
		return ret;
	count = send_largest_files_list(top, &files);
	for (size_t i = 0; i < count; i++)
		rows_add(rows, &files[i]);
	return rows_end(&rows);
}

/* -- --estimate -- */

static void say_size(const struct send_forecast *forecast, const struct output *out,
		     const char *name, uint64_t bytes, uint64_t eta_ns)
{
	char size[UNITS_TEXT_SIZE], time[UNITS_TEXT_SIZE];

	format_size(size, bytes, out->sizes);
	if (forecast->has_rate)
		record_say(out, "%s: %s, %s\n", name, size, format_duration(time, eta_ns));
	else
		record_say(out, "%s: %s\n", name, size);
}

static void say_rate(const struct send_forecast *forecast, const struct output *out)
{
	char rate[UNITS_TEXT_SIZE], size[UNITS_TEXT_SIZE], time[UNITS_TEXT_SIZE];

	format_size(rate, forecast->rate, out->sizes);
	if (forecast->measured_bytes)
		record_say(out, "Rate: %s/s, measured: %s sent and discarded in %s\n", rate,
			   format_size(size, forecast->measured_bytes, out->sizes),
			   format_time(time, forecast->measured_ns));
	else
		record_say(out, "Rate: %s/s, as given\n", rate);
}

/* As bare numbers and without a rate, the size of the stream alone: other programs want this. */
static void say_forecast(const struct send_forecast *forecast, const struct output *out)
{
	char text[UNITS_TEXT_SIZE];

	if (out->sizes.base == SIZE_RAW && !forecast->has_rate) {
		record_say(out, "%s\n",
			   format_size(text, send_forecast_bytes(forecast), out->sizes));
		return;
	}
	if (forecast->is_incremental)
		say_size(forecast, out, "Incremental", forecast->incremental_bytes,
			 forecast->eta_ns);
	if (forecast->has_full)
		say_size(forecast, out, "Full", forecast->full_bytes, forecast->full_eta_ns);
	if (forecast->has_rate)
		say_rate(forecast, out);
}

int send_report_print(const struct send_report *report, struct output *out)
{
	int ret;

	/* The other formats have the rest, too. */
	if (report->forecast.is_made && out->format == FORMAT_TEXT) {
		say_forecast(&report->forecast, out);
		return 0;
	}
	ret = report_contents(report, out);
	if (ret == 0)
		ret = report_passes(report, out);
	if (ret == 0)
		ret = report_top(report->reading.top, out);
	counter_delta_report(&report->counter_delta, out);
	record_members(out, error_fields, report);
	return ret;
}
