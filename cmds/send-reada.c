// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/drop-caches.h"
#include "base/mul-div.h"
#include "base/name-escape.h"
#include "base/saturating-add.h"
#include "commands.h"
#include "fs/device-stats.h"
#include "fs/subvolume.h"
#include "send/send-estimate.h"
#include "send/send-extents.h"
#include "send/send-largest-files.h"
#include "send/send-stream.h"
#include "send/send-subvolume.h"
#include "ui/counter-delta.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/progress.h"
#include "ui/table.h"

#define PASSES_MAX 1000
#define TOP_MAX 1000
#define BAR_WIDTH 30
#define READ_SIZE (256 << 10)

/* -- options -- */

enum progress_wish { PROGRESS_ON_TERMINAL, PROGRESS_ALWAYS, PROGRESS_NEVER };

struct arguments {
	struct global_options *global;
	const char *path;
	int path_count;
	const char *decode;
	const char *parent;
	const char **clones;
	size_t clone_count;
	/* 0: the newest one, if given */
	uint32_t protocol;
	bool protocol_given;
	bool estimate;
	bool data;
	bool compressed;
	bool cold;
	uint64_t passes;
	uint64_t top;
	enum progress_wish progress;
};

enum {
	OPTION_ESTIMATE = 0x2000,
	OPTION_DATA,
	OPTION_PROTO,
	OPTION_COMPRESSED,
	OPTION_COLD,
	OPTION_PASSES,
	OPTION_TOP,
	OPTION_PROGRESS,
	OPTION_NO_PROGRESS,
	OPTION_DECODE,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "What to send, as btrfs send has it:", 1 },
	{ "parent", 'p', "PARENT", 0, "The changes since this snapshot alone", 1 },
	{ "clone-src", 'c', "CLONE", 0, "What may be cloned from this snapshot is; repeatable", 1 },
	{ "proto", OPTION_PROTO, "N", 0, "By this protocol (1), 0: the kernel's newest", 1 },
	{ "compressed-data", OPTION_COMPRESSED, NULL, 0,
	  "Data as it is compressed; from protocol 2 on", 1 },
	{ "data", OPTION_DATA, NULL, 0, "File data, too, which has to be read then", 1 },
	{ NULL, 0, NULL, 0, "What to report:", 2 },
	{ "estimate", OPTION_ESTIMATE, NULL, 0, "The size of the stream with data, alone", 2 },
	{ "top", OPTION_TOP, "N", 0, "Also the N files with the most bytes in the stream", 2 },
	{ "decode", OPTION_DECODE, "FILE", 0,
	  "A stream in FILE, or - for standard input; sends nothing", 2 },
	{ NULL, 0, NULL, 0, "How:", 3 },
	{ "cold", OPTION_COLD, NULL, 0, "Write back and drop all caches first (root)", 3 },
	{ "passes", OPTION_PASSES, "N", 0, "N times; with --cold all but the first one warm", 3 },
	{ "progress", OPTION_PROGRESS, NULL, 0, "Show progress even if this is no terminal", 3 },
	{ "no-progress", OPTION_NO_PROGRESS, NULL, 0, "Show none on a terminal", 3 },
	{ 0 },
};

static error_t parse_protocol(struct arguments *arguments, const char *text)
{
	if (!isdigit((unsigned char)text[0]) || text[1] || text[0] - '0' > SEND_PROTOCOL_MAX) {
		error_value("unknown protocol", text, ": 0 to %d expected", SEND_PROTOCOL_MAX);
		return EINVAL;
	}
	arguments->protocol = text[0] - '0';
	arguments->protocol_given = true;
	return 0;
}

static error_t add_clone(struct arguments *arguments, const char *path)
{
	const char **clones = reallocarray(arguments->clones, arguments->clone_count + 1,
					   sizeof(*clones));

	if (!clones)
		return ENOMEM;
	clones[arguments->clone_count++] = path;
	arguments->clones = clones;
	return 0;
}

static error_t check_decode(const struct arguments *arguments)
{
	if (arguments->path_count) {
		error("--decode sends nothing: no subvolume expected");
		return EINVAL;
	}
	if (arguments->parent || arguments->clone_count || arguments->protocol_given ||
	    arguments->compressed || arguments->data || arguments->cold || arguments->passes) {
		error("--decode leaves no room for options of sending");
		return EINVAL;
	}
	return 0;
}

static error_t check_arguments(struct arguments *arguments, const struct argp_state *state)
{
	if (arguments->global->done)
		return 0;
	if (arguments->estimate && (arguments->data || arguments->cold || arguments->passes ||
				    arguments->top || arguments->decode)) {
		error("--estimate leaves no room for other reports");
		return EINVAL;
	}
	if (arguments->decode)
		return check_decode(arguments);
	if (expect_one_argument(state, arguments->path_count))
		return EINVAL;
	if (arguments->compressed && arguments->protocol_given && arguments->protocol == 1) {
		error("--compressed-data needs protocol 2 or later");
		return EINVAL;
	}
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'p':
		arguments->parent = text;
		return 0;
	case 'c':
		return add_clone(arguments, text);
	case OPTION_PROTO:
		return parse_protocol(arguments, text);
	case OPTION_COMPRESSED:
		arguments->compressed = true;
		return 0;
	case OPTION_DATA:
		arguments->data = true;
		return 0;
	case OPTION_ESTIMATE:
		arguments->estimate = true;
		return 0;
	case OPTION_TOP:
		return parse_count("files", text, TOP_MAX, &arguments->top);
	case OPTION_DECODE:
		arguments->decode = text;
		return 0;
	case OPTION_COLD:
		arguments->cold = true;
		return 0;
	case OPTION_PASSES:
		return parse_count("passes", text, PASSES_MAX, &arguments->passes);
	case OPTION_PROGRESS:
		arguments->progress = PROGRESS_ALWAYS;
		return 0;
	case OPTION_NO_PROGRESS:
		arguments->progress = PROGRESS_NEVER;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = arguments->global;
		return 0;
	case ARGP_KEY_ARG:
		arguments->path = text;
		arguments->path_count++;
		return 0;
	case ARGP_KEY_END:
		return check_arguments(arguments, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = global_argp_children,
	.args_doc = "SUBVOL\n--decode FILE",
	.doc = "Tell what a btrfs send of a read-only subvolume consists of, what it reads from the "
	       "devices, and how large it would be.\vThe kernel sends, and the stream is decoded "
	       "as it comes and written nowhere. Without --data it has no file data, which is "
	       "enough to tell how large it would be with it. Sending needs root; --decode does "
	       "not.",
};

/* -- the stream -- */

/* What a stream consists of. */
struct tally {
	uint64_t counts[SEND_COMMAND_COUNT];
	uint64_t bytes[SEND_COMMAND_COUNT];
	uint64_t command_count;
	/* of files: what is in the stream, or would be with data */
	uint64_t data_bytes;
	/* of the stream with data */
	uint64_t estimated_bytes;
};

/* A stream being read, from the kernel or a file. */
struct reading {
	struct send_stream stream;
	struct tally tally;
	/* the name that the stream gives its first subvolume */
	char *name;
	/* with --top */
	struct send_largest_files *top;
	/* where data is to be sent as it is compressed, but is not in the stream */
	struct send_extents *extents;
	size_t page_size;
	/* how much there will be, 0: nobody knows */
	uint64_t expected_bytes;
	uint64_t started_ns;
	struct size_format sizes;
};

static void draw_bar(char bar[BAR_WIDTH + 1], uint64_t part, uint64_t whole)
{
	int filled = mul_div(part, BAR_WIDTH, whole);

	memset(bar, '.', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
}

static void show_progress(const struct reading *reading)
{
	uint64_t elapsed = monotonic_ns() - reading->started_ns;
	uint64_t whole = reading->expected_bytes;
	uint64_t part = reading->stream.position;
	char bar[BAR_WIDTH + 1], sent[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];
	char rate[UNITS_TEXT_SIZE], left[UNITS_TEXT_SIZE];

	format_size(sent, part, reading->sizes);
	format_size(rate, per_second(part, elapsed), reading->sizes);
	if (!whole || !part || part > whole) {
		progress_show("%s, %" PRIu64 " commands, %s/s", sent, reading->tally.command_count,
			      rate);
		return;
	}
	draw_bar(bar, part, whole);
	format_time(left, mul_div(elapsed, whole - part, part));
	progress_show("[%s] %3d%% %s of %s, %s/s, %s left", bar, (int)(100.0 * part / whole), sent,
		      format_size(all, whole, reading->sizes), rate, left);
}

static void count_for_top(struct send_largest_files *top, const struct send_command *command,
			  uint64_t bytes)
{
	switch (command->type) {
	case SEND_WRITE:
	case SEND_ENCODED_WRITE:
	case SEND_UPDATE_EXTENT:
	case SEND_CLONE:
		send_largest_files_add(top, command->path, bytes);
		break;
	case SEND_RENAME:
		send_largest_files_rename(top, command->path, command->path_to);
		break;
	default:
		break;
	}
}

/* What COMMAND would be in a stream with data. */
struct with_data {
	uint64_t bytes;
	uint64_t data_bytes;
};

static int estimate_command(const struct reading *reading, const struct send_command *command,
			    struct with_data *ret_with_data)
{
	struct file_extent extent;
	int ret = 0;

	*ret_with_data = (struct with_data){
		send_estimate_size(command, reading->stream.protocol, reading->page_size),
		command->type == SEND_UPDATE_EXTENT ? command->length : command->data_bytes,
	};
	if (reading->extents && command->type == SEND_UPDATE_EXTENT)
		ret = send_extents_find(reading->extents, command, &extent);
	if (ret > 0 && send_estimate_is_encoded(&extent, command->length))
		*ret_with_data = (struct with_data){
			send_estimate_encoded_size(command, &extent),
			extent.disk_bytes,
		};
	return ret < 0 ? ret : 0;
}

static int count_command(struct reading *reading, const struct send_command *command)
{
	struct tally *tally = &reading->tally;
	struct with_data with_data;
	int ret;

	ret = estimate_command(reading, command, &with_data);
	if (ret < 0)
		return ret;
	tally->counts[command->type]++;
	tally->bytes[command->type] += command->size;
	tally->command_count++;
	tally->estimated_bytes = saturating_add(tally->estimated_bytes, with_data.bytes);
	tally->data_bytes = saturating_add(tally->data_bytes, with_data.data_bytes);
	if (!reading->name && (command->type == SEND_SUBVOL || command->type == SEND_SNAPSHOT)) {
		reading->name = strdup(command->path);
		if (!reading->name)
			return -ENOMEM;
	}
	if (reading->top)
		count_for_top(reading->top, command, with_data.bytes);
	return 0;
}

/* A send_reader. */
static int read_piece(void *data, const void *bytes, size_t size)
{
	struct reading *reading = data;
	struct send_command command;
	int ret;

	while ((ret = send_stream_next(&reading->stream, &bytes, &size, &command)) > 0) {
		ret = count_command(reading, &command);
		if (ret < 0)
			return ret;
	}
	if (progress_due())
		show_progress(reading);
	return ret;
}

static int reading_init(struct reading *reading, const struct arguments *arguments)
{
	*reading = (struct reading){
		.page_size = sysconf(_SC_PAGESIZE),
		.sizes = arguments->global->sizes,
		.started_ns = monotonic_ns(),
	};
	return arguments->top ? send_largest_files_new(&reading->top, arguments->top) : 0;
}

static void reading_free(struct reading *reading)
{
	send_extents_free(reading->extents);
	send_largest_files_free(reading->top);
	free(reading->name);
}

/* The stream's own header is in no command. */
static uint64_t estimated_stream_bytes(const struct reading *reading)
{
	uint64_t in_commands = 0;

	for (int i = 0; i < SEND_COMMAND_COUNT; i++)
		in_commands += reading->tally.bytes[i];
	return saturating_add(reading->tally.estimated_bytes,
			      reading->stream.position - in_commands);
}

/* -- what is reported -- */

struct pass {
	bool cold;
	uint64_t elapsed_ns;
	uint64_t stream_bytes;
	uint64_t command_count;
	struct device_stats device;
	bool device_known;
};

static void pass_measure(struct pass *pass, const struct reading *reading)
{
	pass->elapsed_ns = monotonic_ns() - reading->started_ns;
	pass->stream_bytes = reading->stream.position;
	pass->command_count = reading->tally.command_count;
}

struct report {
	const struct arguments *arguments;
	/* the subvolume as it was named, or as a decoded stream calls it */
	const char *subvolume;
	/* as it was named, NULL: none */
	const char *parent;
	struct reading reading;
	struct pass *passes;
	size_t pass_count;
	uint64_t tree_bytes;
	/* of an incremental stream that is estimated: all of it */
	uint64_t full_bytes;
	struct counter_delta counter_delta;
	/* what is wrong with a decoded stream */
	const char *error;
};

static const struct table_column command_columns[] = {
	{ "Command", 14, true },
	{ "Count", 10, false },
	{ "Stream", 10, false },
};

static int print_command(struct table *table, const char *name, uint64_t count, uint64_t bytes,
			 struct size_format sizes)
{
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_cell(table, name);
	ret |= table_number_cell(table, count);
	ret |= table_size_cell(table, bytes, sizes);
	return ret ? -ENOMEM : 0;
}

static int print_commands(const struct report *report)
{
	const struct tally *tally = &report->reading.tally;
	struct size_format sizes = report->arguments->global->sizes;
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, command_columns);
	for (int i = 1; i < SEND_COMMAND_COUNT && ret == 0; i++)
		if (tally->counts[i])
			ret = print_command(table, send_command_name(i), tally->counts[i],
					    tally->bytes[i], sizes);
	if (ret < 0)
		return ret;
	return print_command(table, "total", tally->command_count, report->reading.stream.position,
			     sizes);
}

static const struct table_column pass_columns[] = {
	{ "Pass", 6, true },	    { "Elapsed", 9, false },   { "Commands/s", 10, false },
	{ "Stream/s", 10, false },  { "Reads", 8, false },     { "Read", 10, false },
	{ "Mean read", 10, false }, { "In flight", 9, false }, { "Busy", 5, false },
};

static int device_cells(struct table *table, const struct pass *pass, struct size_format sizes)
{
	const struct device_stats *device = &pass->device;
	char text[UNITS_TEXT_SIZE];
	int ret = 0;

	if (!pass->device_known || !pass->elapsed_ns) {
		for (int i = 0; i < 5; i++)
			ret |= table_cell(table, "-");
		return ret;
	}
	ret |= table_number_cell(table, device->reads);
	ret |= table_size_cell(table, device->read_bytes, sizes);
	if (device->reads)
		ret |= table_size_cell(table, device->read_bytes / device->reads, sizes);
	else
		ret |= table_cell(table, "-");
	snprintf(text, sizeof(text), "%.2f", (double)device->read_ns / pass->elapsed_ns);
	ret |= table_cell(table, text);
	snprintf(text, sizeof(text), "%.0f%%",
		 100.0 * device->busy_ns / pass->elapsed_ns / device->device_count);
	ret |= table_cell(table, text);
	return ret;
}

static int print_pass(struct table *table, const struct report *report, const struct pass *pass)
{
	struct size_format sizes = report->arguments->global->sizes;
	char text[UNITS_TEXT_SIZE];
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	if (report->arguments->cold)
		snprintf(text, sizeof(text), "%s", pass->cold ? "cold" : "warm");
	else
		snprintf(text, sizeof(text), "%zu", (size_t)(pass - report->passes) + 1);
	ret |= table_cell(table, text);
	ret |= table_cell(table, format_time(text, pass->elapsed_ns));
	ret |= table_number_cell(table, per_second(pass->command_count, pass->elapsed_ns));
	ret |= table_size_cell(table, per_second(pass->stream_bytes, pass->elapsed_ns), sizes);
	ret |= device_cells(table, pass, sizes);
	return ret ? -ENOMEM : 0;
}

static int print_passes(const struct report *report)
{
	CLEANUP(table_freep) struct table *table = NULL;
	int ret;

	ret = TABLE_NEW(&table, pass_columns);
	for (size_t i = 0; i < report->pass_count && ret == 0; i++)
		ret = print_pass(table, report, &report->passes[i]);
	return ret;
}

static const struct table_column top_columns[] = { { "Bytes", 10, false }, { "Path", 0, true } };

static int print_top_file(struct table *table, const struct send_largest_file *file,
			  struct size_format sizes)
{
	int ret;

	ret = table_begin_row(table);
	if (ret < 0)
		return ret;
	ret |= table_size_cell(table, file->bytes, sizes);
	ret |= table_cell(table, file->path ? file->path : "(longer than a path can be)");
	return ret ? -ENOMEM : 0;
}

static int print_top(const struct report *report)
{
	CLEANUP(table_freep) struct table *table = NULL;
	const struct send_largest_file *files;
	size_t count;
	int ret;

	if (!report->reading.top)
		return 0;
	count = send_largest_files_list(report->reading.top, &files);
	ret = TABLE_NEW(&table, top_columns);
	for (size_t i = 0; i < count && ret == 0; i++)
		ret = print_top_file(table, &files[i], report->arguments->global->sizes);
	return ret;
}

static int print_name(const char *title, const char *name)
{
	CLEANUP_FREE char *quoted = quote_name(name);

	if (!quoted)
		return -ENOMEM;
	printf("%s: %s\n", title, quoted);
	return 0;
}

static int print_head(const struct report *report)
{
	int ret = 0;

	if (report->subvolume)
		ret = print_name("Subvolume", report->subvolume);
	if (ret == 0 && report->parent)
		ret = print_name("Parent", report->parent);
	if (report->reading.stream.protocol)
		printf("Protocol: %" PRIu32 "\n", report->reading.stream.protocol);
	return ret;
}

static void print_sums(const struct report *report)
{
	struct size_format sizes = report->arguments->global->sizes;
	char first[UNITS_TEXT_SIZE], second[UNITS_TEXT_SIZE];

	printf("Data: %s\n", format_size(first, report->reading.tally.data_bytes, sizes));
	if (report->reading.tally.counts[SEND_UPDATE_EXTENT])
		printf("Stream with data: %s, estimated\n",
		       format_size(first, estimated_stream_bytes(&report->reading), sizes));
	if (report->pass_count && report->passes[0].device_known)
		printf("Metadata: %s in the subvolume's tree, %s read%s\n",
		       format_size(first, report->tree_bytes, sizes),
		       format_size(second, report->passes[0].device.read_bytes, sizes),
		       report->arguments->data ? ", data included" : "");
}

static int print_report(const struct report *report)
{
	int ret;

	ret = print_head(report);
	if (ret == 0)
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

static void json_commands(struct json_writer *json, const char *key, const struct tally *tally,
			  const uint64_t *values)
{
	json_begin_object(json, key);
	for (int i = 1; i < SEND_COMMAND_COUNT; i++)
		if (tally->counts[i])
			json_add_uint(json, send_command_name(i), values[i]);
	json_end_object(json);
}

static void json_device(struct json_writer *json, const struct pass *pass)
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

static void json_pass(struct json_writer *json, const struct pass *pass)
{
	json_add_uint(json, "elapsed_ns", pass->elapsed_ns);
	json_add_bool(json, "cold", pass->cold);
	json_device(json, pass);
}

static void json_passes(struct json_writer *json, const struct report *report)
{
	json_begin_array(json, "passes");
	for (size_t i = 0; i < report->pass_count; i++) {
		const struct pass *pass = &report->passes[i];

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

static void json_top(struct json_writer *json, const struct report *report)
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

static void json_report(struct json_writer *json, const struct report *report)
{
	const struct reading *reading = &report->reading;
	const struct tally *tally = &reading->tally;

	json_add_name(json, "subvolume", report->subvolume);
	json_add_name(json, "parent", report->parent);
	json_add_known_uint(json, "protocol", reading->stream.protocol, reading->stream.protocol);
	json_commands(json, "commands", tally, tally->counts);
	json_commands(json, "command_bytes", tally, tally->bytes);
	json_add_uint(json, "command_count", tally->command_count);
	json_add_uint(json, "stream_bytes", reading->stream.position);
	json_add_uint(json, "data_bytes", tally->data_bytes);
	json_add_uint(json, "estimated_bytes", estimated_stream_bytes(reading));
	json_add_known_uint(json, "full_estimated_bytes", report->full_bytes, report->full_bytes);
	json_pass(json, &report->passes[0]);
	json_add_known_uint(json, "metadata_bytes", report->tree_bytes, report->tree_bytes);
	json_passes(json, report);
	json_top(json, report);
	counter_delta_report(&report->counter_delta, json);
	if (report->error)
		json_add_string(json, "error", report->error);
}

/* -- sending -- */

/* A read-only subvolume that was named. */
struct opened {
	const char *path;
	int fd;
	uint64_t subvolid;
	uint8_t fsid[FSID_SIZE];
	struct subvolume_root root;
};

struct source {
	struct opened subvolume;
	struct opened parent;
	struct opened *clones;
	size_t clone_count;
	/* of the parent, if there is one, and of the clones */
	uint64_t *clone_ids;
};

/* Complains, and returns -1. */
static int refuse(const char *what, const char *path, int err)
{
	error_path(what, path, err);
	return -1;
}

static int look_at(struct opened *opened)
{
	int ret;

	ret = subvolume_is_root(opened->fd);
	if (ret == -ENOTTY)
		return refuse("not a btrfs filesystem:", opened->path, 0);
	if (ret == 0)
		return refuse("not a subvolume:", opened->path, 0);
	if (ret > 0)
		ret = subvolume_id_of(opened->fd, &opened->subvolid);
	if (ret == 0)
		ret = filesystem_id_of(opened->fd, opened->fsid);
	if (ret == 0)
		ret = subvolume_root_of(opened->fd, opened->subvolid, &opened->root);
	if (ret == -EPERM) {
		error("sending needs CAP_SYS_ADMIN (root); without it only --decode works");
		return -1;
	}
	if (ret < 0)
		return refuse("cannot examine", opened->path, ret);
	if (!opened->root.read_only)
		return refuse("subvolume is not read-only:", opened->path, 0);
	/* It has no name, and a stream needs one. */
	if (opened->subvolid == BTRFS_FS_TREE_OBJECTID)
		return refuse("the top level of a filesystem cannot be sent:", opened->path, 0);
	return 0;
}

static int open_subvolume(struct opened *opened, const char *path)
{
	opened->path = path;
	opened->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (opened->fd < 0)
		return refuse("cannot open", path, -errno);
	return look_at(opened);
}

static int open_beside(struct opened *opened, const char *path, const struct opened *subvolume)
{
	int ret;

	ret = open_subvolume(opened, path);
	if (ret == 0 && memcmp(opened->fsid, subvolume->fsid, FSID_SIZE) != 0)
		return refuse("not on the filesystem of the subvolume to be sent:", path, 0);
	return ret;
}

static int open_parent(struct source *source, const char *path)
{
	int ret;

	ret = open_beside(&source->parent, path, &source->subvolume);
	if (ret < 0)
		return ret;
	ret = subvolumes_are_related(source->subvolume.fd, source->subvolume.subvolid,
				     source->parent.subvolid);
	if (ret < 0)
		return refuse("cannot tell the origin of", path, ret);
	if (ret == 0)
		return refuse("parent and subvolume were not made of each other by snapshots:",
			      path, 0);
	return 0;
}

static bool same_uuid(const uint8_t *a, const uint8_t *b)
{
	static const uint8_t none[SUBVOLUME_UUID_SIZE];

	return memcmp(a, b, SUBVOLUME_UUID_SIZE) == 0 && memcmp(a, none, sizeof(none)) != 0;
}

/* As btrfs send does it: the one that the subvolume is a snapshot of, or the youngest sibling. */
static const struct opened *choose_parent(const struct source *source)
{
	const struct subvolume_root *root = &source->subvolume.root;
	const struct opened *youngest = NULL;

	for (size_t i = 0; i < source->clone_count; i++) {
		const struct opened *clone = &source->clones[i];

		if (same_uuid(clone->root.uuid, root->parent_uuid))
			return clone;
		if (same_uuid(clone->root.parent_uuid, root->parent_uuid) &&
		    (!youngest || clone->root.ctransid > youngest->root.ctransid))
			youngest = clone;
	}
	return youngest;
}

static int open_clones(struct source *source, const struct arguments *arguments)
{
	source->clones = calloc(arguments->clone_count + 1, sizeof(*source->clones));
	source->clone_ids = calloc(arguments->clone_count + 1, sizeof(*source->clone_ids));
	if (!source->clones || !source->clone_ids) {
		error("out of memory");
		return -1;
	}
	for (size_t i = 0; i < arguments->clone_count; i++) {
		struct opened *clone = &source->clones[source->clone_count++];
		int ret;

		ret = open_beside(clone, arguments->clones[i], &source->subvolume);
		if (ret < 0)
			return ret;
		source->clone_ids[i] = clone->subvolid;
	}
	return 0;
}

/* Complains about what cannot be sent, and returns -1 then. */
static int source_open(struct source *source, const struct arguments *arguments)
{
	const struct opened *chosen;

	*source = (struct source){ .subvolume.fd = -1, .parent.fd = -1 };
	if (open_subvolume(&source->subvolume, arguments->path) < 0 ||
	    open_clones(source, arguments) < 0)
		return -1;
	if (arguments->parent)
		return open_parent(source, arguments->parent);
	if (!source->clone_count)
		return 0;
	chosen = choose_parent(source);
	if (!chosen)
		return refuse("no clone source can be the parent, name one with -p:",
			      arguments->path, 0);
	return open_parent(source, chosen->path);
}

static void source_close(struct source *source)
{
	close_fd(&source->subvolume.fd);
	close_fd(&source->parent.fd);
	for (size_t i = 0; i < source->clone_count; i++)
		close_fd(&source->clones[i].fd);
	free(source->clones);
	free(source->clone_ids);
}

static struct send_request request_of(const struct source *source,
				      const struct arguments *arguments)
{
	bool has_parent = source->parent.fd >= 0;

	/* The parent is a clone source, too; there is room for it behind the others. */
	if (has_parent)
		source->clone_ids[source->clone_count] = source->parent.subvolid;
	return (struct send_request){
		.fd = source->subvolume.fd,
		.protocol = arguments->protocol,
		.data = arguments->data,
		.compressed = arguments->compressed,
		.parent = has_parent ? source->parent.subvolid : 0,
		.clone_sources = source->clone_ids,
		.clone_count = source->clone_count + has_parent,
	};
}

/* Complains. */
static void send_failed(const struct reading *reading, const char *path, int ret)
{
	if (ret == -EPROTO && reading->stream.fault)
		error("the kernel's stream is broken at byte %" PRIu64 ": %s",
		      reading->stream.fault_position, send_fault_text(reading->stream.fault));
	else
		error_path("cannot send", path, ret);
}

static int send_once(const struct send_request *request, const char *path, struct reading *reading)
{
	int ret = 0;

	if (request->compressed && !request->data)
		ret = send_extents_new(&reading->extents, request->fd);
	reading->started_ns = monotonic_ns();
	if (ret == 0)
		ret = send_subvolume(request, read_piece, reading);
	if (ret == 0)
		ret = send_stream_end(&reading->stream);
	progress_clear();
	if (ret < 0)
		send_failed(reading, path, ret);
	return ret < 0 ? -1 : 0;
}

/* The size of the stream with data, from one without. */
static int estimate(const struct send_request *request, const struct arguments *arguments,
		    uint64_t *ret_bytes)
{
	struct send_request without_data = *request;
	CLEANUP(reading_free) struct reading reading;
	int ret;

	without_data.data = false;
	ret = reading_init(&reading, arguments);
	if (ret == 0)
		ret = send_once(&without_data, arguments->path, &reading);
	if (ret == 0)
		*ret_bytes = estimated_stream_bytes(&reading);
	return ret;
}

static int begin_cold(int fd)
{
	int ret = drop_caches(fd);

	if (ret == -EACCES || ret == -EPERM)
		error("--cold needs write access to /proc/sys/vm/drop_caches (root)");
	else if (ret < 0)
		error("cannot drop the caches: %s", strerror(-ret));
	return ret < 0 ? -1 : 0;
}

/* Linux 6.1 can keep all metadata that it has just written. */
static void warn_if_not_cold(const struct report *report, const struct pass *pass)
{
	if (pass->cold && pass->device_known && !pass->device.reads &&
	    report->arguments->global->verbosity >= 0)
		warning("nothing was read: the kernel keeps the metadata in memory although "
			"caches were dropped; mount anew for a cold pass");
}

static int send_pass(struct report *report, const struct source *source,
		     const struct send_request *request, struct pass *pass)
{
	struct reading *reading = &report->reading;
	struct device_stats before, after;
	int ret;

	if (pass->cold && begin_cold(request->fd) < 0)
		return -1;
	pass->device_known = device_stats_read(NULL, source->subvolume.fsid, &before) == 0;
	ret = send_once(request, report->subvolume, reading);
	if (ret < 0)
		return ret;
	pass_measure(pass, reading);
	if (pass->device_known && device_stats_read(NULL, source->subvolume.fsid, &after) == 0)
		pass->device = device_stats_subtract(&after, &before);
	else
		pass->device_known = false;
	warn_if_not_cold(report, pass);
	return 0;
}

/* Each pass reads the same stream; the last one's is reported. */
static int send_passes(struct report *report, const struct source *source,
		       const struct send_request *request)
{
	const struct arguments *arguments = report->arguments;
	uint64_t expected = 0;
	int ret = 0;

	if (arguments->data && progress_enabled())
		ret = estimate(request, arguments, &expected);
	for (size_t i = 0; i < report->pass_count && ret == 0; i++) {
		reading_free(&report->reading);
		ret = reading_init(&report->reading, arguments);
		if (ret < 0)
			return ret;
		report->reading.expected_bytes = expected;
		report->passes[i].cold = arguments->cold && i == 0;
		if (i == 0)
			counter_delta_begin(&report->counter_delta, request->fd);
		ret = send_pass(report, source, request, &report->passes[i]);
		if (i == 0)
			counter_delta_end(&report->counter_delta);
		expected = report->reading.stream.position;
	}
	return ret;
}

/* An incremental stream can be larger than all of it. */
static int compare_with_full(struct report *report, const struct source *source,
			     const struct send_request *request)
{
	struct send_request full = *request;
	char with_parent[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];
	uint64_t bytes;
	int ret;

	if (source->parent.fd < 0)
		return 0;
	full.parent = 0;
	full.clone_count = 0;
	ret = estimate(&full, report->arguments, &report->full_bytes);
	if (ret < 0)
		return ret;
	bytes = estimated_stream_bytes(&report->reading);
	if (bytes > report->full_bytes && report->arguments->global->verbosity >= 0)
		warning("the incremental stream is larger than a full one: %s, not %s",
			format_size(with_parent, bytes, report->arguments->global->sizes),
			format_size(all, report->full_bytes, report->arguments->global->sizes));
	return 0;
}

static int send_and_count(struct report *report, const struct source *source)
{
	const struct arguments *arguments = report->arguments;
	struct send_request request = request_of(source, arguments);
	int ret;

	report->tree_bytes = source->subvolume.root.tree_bytes;
	report->parent = source->parent.fd >= 0 ? source->parent.path : NULL;
	ret = send_passes(report, source, &request);
	if (ret == 0 && arguments->estimate)
		ret = compare_with_full(report, source, &request);
	return ret;
}

static int report_send(struct report *report)
{
	struct source source;
	int ret;

	report->subvolume = report->arguments->path;
	ret = source_open(&source, report->arguments);
	if (ret == 0)
		ret = send_and_count(report, &source);
	source_close(&source);
	return ret;
}

/* -- decoding -- */

static int read_all(struct reading *reading, int fd)
{
	CLEANUP_FREE char *buffer = malloc(READ_SIZE);

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t size = read(fd, buffer, READ_SIZE);
		int ret;

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return size < 0 ? -errno : send_stream_end(&reading->stream);
		ret = read_piece(reading, buffer, size);
		if (ret < 0)
			return ret;
	}
}

/* What could be read of a damaged stream is reported. Returns whether it is one at all. */
static bool is_damaged(struct report *report, int ret)
{
	const struct send_stream *stream = &report->reading.stream;
	CLEANUP_FREE char *quoted = quote_name(report->arguments->decode);

	if (ret != -EPROTO)
		return false;
	report->error = send_fault_text(stream->fault);
	error("damaged stream %s at byte %" PRIu64 ": %s", quoted ? quoted : "?",
	      stream->fault_position, report->error);
	return true;
}

static int report_stream(struct report *report, int fd)
{
	struct reading *reading = &report->reading;
	struct stat status;
	int ret;

	ret = reading_init(reading, report->arguments);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		reading->expected_bytes = status.st_size;
	if (ret == 0)
		ret = read_all(reading, fd);
	pass_measure(&report->passes[0], reading);
	progress_clear();
	if (ret < 0 && !is_damaged(report, ret)) {
		error_path("cannot read", report->arguments->decode, ret);
		return -1;
	}
	report->subvolume = reading->name;
	return 0;
}

static int report_file(struct report *report)
{
	const char *path = report->arguments->decode;
	CLEANUP_CLOSE int fd = -1;

	if (strcmp(path, "-") == 0)
		return report_stream(report, STDIN_FILENO);
	fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? refuse("cannot open", path, -errno) : report_stream(report, fd);
}

/* -- the command -- */

/* What "0" and nothing at all mean. Complains where the kernel does not know the protocol. */
static int settle_protocol(struct arguments *arguments)
{
	uint32_t newest = send_newest_protocol();

	if (arguments->protocol_given && !arguments->protocol)
		arguments->protocol = newest < SEND_PROTOCOL_MAX ? newest : SEND_PROTOCOL_MAX;
	else if (!arguments->protocol_given)
		arguments->protocol = arguments->compressed ? 2 : 1;
	if (arguments->protocol > newest) {
		error("this kernel does not know protocol %" PRIu32 ", but up to %" PRIu32,
		      arguments->protocol, newest);
		return -1;
	}
	if (arguments->compressed && arguments->protocol < 2) {
		error("--compressed-data needs protocol 2 or later");
		return -1;
	}
	return 0;
}

static int make_report(struct report *report, struct arguments *arguments)
{
	if (arguments->decode)
		return report_file(report);
	if (settle_protocol(arguments) < 0)
		return -1;
	return report_send(report);
}

static void begin_progress(const struct arguments *arguments)
{
	if (arguments->progress == PROGRESS_ALWAYS)
		progress_start_anywhere();
	else
		progress_start(arguments->progress == PROGRESS_ON_TERMINAL &&
			       arguments->global->verbosity >= 0);
}

static int print_estimate(const struct report *report)
{
	char text[UNITS_TEXT_SIZE];

	puts(format_size(text, estimated_stream_bytes(&report->reading),
			 report->arguments->global->sizes));
	return 0;
}

static int print(const struct report *report, bool is_complete)
{
	const struct arguments *arguments = report->arguments;
	struct json_writer json;

	if (!arguments->global->json) {
		if (!is_complete)
			return 0;
		return arguments->estimate ? print_estimate(report) : print_report(report);
	}
	json_begin(&json, stdout);
	if (is_complete) {
		json_begin_object(&json, "send-reada");
		json_report(&json, report);
		json_end_object(&json);
	} else {
		json_add_null(&json, "send-reada");
	}
	json_end(&json);
	return 0;
}

static int run(struct arguments *arguments)
{
	struct report report = { .arguments = arguments };
	int ret = -1;

	report.pass_count = arguments->passes ? arguments->passes : 1;
	report.passes = calloc(report.pass_count, sizeof(*report.passes));
	if (report.passes) {
		begin_progress(arguments);
		ret = make_report(&report, arguments);
		progress_clear();
		if (print(&report, ret == 0) < 0)
			ret = -ENOMEM;
	}
	if (!report.passes || ret == -ENOMEM)
		error("out of memory");
	reading_free(&report.reading);
	free(report.passes);
	return ret < 0 || report.error ? STATUS_ERROR : STATUS_OK;
}

int send_reada_run(int argc, char **argv, struct global_options *global)
{
	struct arguments arguments = { .global = global };
	int status = STATUS_ERROR;

	if (!options_parse(&argp, argc, argv, 0, &arguments))
		status = global->done ? STATUS_OK : run(&arguments);
	free(arguments.clones);
	return status;
}
