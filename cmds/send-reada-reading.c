// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mul-div.h"
#include "base/saturating-add.h"
#include "send-reada-reading.h"
#include "send/send-estimate.h"
#include "ui/progress.h"

#define BAR_WIDTH 30

static void draw_bar(char bar[BAR_WIDTH + 1], uint64_t part, uint64_t whole)
{
	int filled = mul_div(part, BAR_WIDTH, whole);

	memset(bar, '.', BAR_WIDTH);
	memset(bar, '#', filled);
	bar[BAR_WIDTH] = '\0';
}

static void show_progress(const struct send_reading *reading)
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

static int estimate_command(const struct send_reading *reading, const struct send_command *command,
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

static int count_command(struct send_reading *reading, const struct send_command *command)
{
	struct send_tally *tally = &reading->tally;
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

int send_reading_take(void *data, const void *bytes, size_t size)
{
	struct send_reading *reading = data;
	struct send_command command;
	int ret;

	while ((ret = send_stream_next(&reading->stream, &bytes, &size, &command)) > 0) {
		ret = count_command(reading, &command);
		if (ret < 0)
			return ret;
	}
	if (reading->plot)
		send_plot_add(reading->plot, monotonic_ns() - reading->started_ns,
			      reading->stream.position);
	if (progress_due())
		show_progress(reading);
	return ret;
}

int send_reading_init(struct send_reading *reading, size_t top, struct size_format sizes)
{
	*reading = (struct send_reading){
		.page_size = sysconf(_SC_PAGESIZE),
		.sizes = sizes,
		.started_ns = monotonic_ns(),
	};
	return top ? send_largest_files_new(&reading->top, top) : 0;
}

void send_reading_free(struct send_reading *reading)
{
	send_extents_free(reading->extents);
	send_largest_files_free(reading->top);
	free(reading->name);
}

/* The stream's own header is in no command. */
uint64_t send_reading_estimated_bytes(const struct send_reading *reading)
{
	uint64_t in_commands = 0;

	for (int i = 0; i < SEND_COMMAND_COUNT; i++)
		in_commands += reading->tally.bytes[i];
	return saturating_add(reading->tally.estimated_bytes,
			      reading->stream.position - in_commands);
}
