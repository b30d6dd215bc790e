// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "num/saturating.h"
#include "send-reada-reading.h"
#include "send/send-estimate.h"
#include "sys/cleanup.h"
#include "sys/clock.h"
#include "text/units.h"
#include "ui/message.h"
#include "ui/progress.h"

#define READ_SIZE (256 << 10)
#define BAR_MIN 5
#define BAR_MAX 30
/* The first bytes say little about the time for all: the metadata comes before them. */
#define ETA_AFTER_BYTES (64 << 20)
#define ETA_AFTER_PERCENT 1

static bool has_eta(uint64_t part, uint64_t whole)
{
	return part >= ETA_AFTER_BYTES || part >= mul_div(whole, ETA_AFTER_PERCENT, 100);
}

/* A bar and a blank, as wide as the line has room for with TEXT, or "". */
static const char *draw_bar(char bar[BAR_MAX + 4], uint64_t part, uint64_t whole, const char *text)
{
	size_t around = strlen("[] ") + strlen(text), width = progress_width();

	if (width < around + BAR_MIN)
		return "";
	width -= around;
	if (width > BAR_MAX)
		width = BAR_MAX;
	memset(bar, '.', width + 2);
	memset(bar, '#', mul_div(part, width, whole) + 1);
	bar[0] = '[';
	strcpy(bar + width + 1, "] ");
	return bar;
}

static void show_send_progress(const struct send_reading *reading)
{
	uint64_t elapsed = monotonic_ns() - reading->started_ns;
	uint64_t whole = reading->expected_bytes;
	uint64_t part = reading->stream.position;
	char sent[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE], rate[UNITS_TEXT_SIZE];
	char bar[BAR_MAX + 4], left[UNITS_TEXT_SIZE], text[5 * UNITS_TEXT_SIZE];
	int length;

	format_size(sent, part, reading->sizes);
	format_size(rate, per_second(part, elapsed), reading->sizes);
	if (!whole || !part || part > whole) {
		progress_show("%s, %" PRIu64 " commands, %s/s", sent, reading->tally.command_count,
			      rate);
		return;
	}
	length = snprintf(text, sizeof(text), "%3d%% %s of %s, %s/s", (int)(100.0 * part / whole),
			  sent, format_size(all, whole, reading->sizes), rate);
	if (has_eta(part, whole))
		snprintf(text + length, sizeof(text) - length, ", %s left",
			 format_duration(left, mul_div(elapsed, whole - part, part)));
	progress_show("%s%s", draw_bar(bar, part, whole, text), text);
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
	struct send_command update = *command;
	struct file_extent extent;
	int ret = 0;

	if (reading->extents && command->type == SEND_UPDATE_EXTENT)
		ret = send_extents_find(reading->extents, command, &extent, &update.length);
	else if (reading->extents)
		send_extents_follow(reading->extents, command);
	*ret_with_data = (struct with_data){
		send_estimate_size(&update, reading->stream.protocol, reading->page_size),
		update.type == SEND_UPDATE_EXTENT ? update.length : update.data_bytes,
	};
	if (ret == -ENODATA) {
		error_path("cannot tell the size, because that of a hole is unknown:",
			   command->path, 0);
		return -ECANCELED;
	}
	if (ret > 0 && send_estimate_is_encoded(&extent, update.length))
		*ret_with_data = (struct with_data){
			send_estimate_encoded_size(&update, &extent),
			extent.disk_bytes,
		};
	return ret < 0 ? ret : 0;
}

static int identify(struct send_reading *reading, const struct send_command *command)
{
	struct send_identity *identity = &reading->identity;

	reading->name = strdup(command->path);
	if (!reading->name)
		return -ENOMEM;
	identity->is_known = command->uuid;
	identity->has_parent = command->parent_uuid;
	if (command->uuid)
		memcpy(identity->uuid, command->uuid, SEND_UUID_SIZE);
	if (command->parent_uuid)
		memcpy(identity->parent_uuid, command->parent_uuid, SEND_UUID_SIZE);
	identity->ctransid = command->ctransid;
	identity->parent_ctransid = command->parent_ctransid;
	return 0;
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
	if (reading->top)
		count_for_top(reading->top, command, with_data.bytes);
	if (!reading->name && (command->type == SEND_SUBVOL || command->type == SEND_SNAPSHOT))
		return identify(reading, command);
	return 0;
}

uint64_t send_reading_amount(const struct send_reading *reading)
{
	return reading->plot->with_data ? reading->stream.position : reading->tally.command_count;
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
			      send_reading_amount(reading));
	if (progress_due())
		show_send_progress(reading);
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

/* -- a stream in a file -- */

static int read_all(struct send_reading *reading, int fd)
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
		ret = send_reading_take(reading, buffer, size);
		if (ret < 0)
			return ret;
	}
}

/* The part before the damage is reported. */
static void complain_of_damage(const char *path, const struct send_stream *stream)
{
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);

	error("damaged stream %s at byte %" PRIu64 ": %s", quoted, stream->fault_position,
	      send_fault_text(stream->fault));
}

int send_reading_decode(struct send_reading *reading, const char *path, const char **ret_fault)
{
	CLEANUP_CLOSE int opened = -1;
	int fd = STDIN_FILENO, ret;
	struct stat status;

	if (strcmp(path, "-") != 0)
		fd = opened = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		error_path("cannot open", path, -errno);
		return -1;
	}
	if (opened >= 0)
		fcntl(opened, F_SETFL, O_NOATIME);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		reading->expected_bytes = status.st_size;
	reading->started_ns = monotonic_ns();
	ret = read_all(reading, fd);
	progress_clear();
	if (ret < 0 && ret != -EPROTO) {
		error_path("cannot read", path, ret);
		return -1;
	}
	if (ret == -EPROTO) {
		complain_of_damage(path, &reading->stream);
		*ret_fault = send_fault_text(reading->stream.fault);
	}
	return 0;
}
