// SPDX-License-Identifier: GPL-2.0-only
/* An input is a send stream. */
#include "config.h"

#include <endian.h>
#include <string.h>

#include "fuzz.h"
#include "num/digest.h"
#include "send/send-stream.h"
#include "sys/cleanup.h"

#define STREAM_HEADER_SIZE 17
#define COMMAND_HEADER_SIZE 10
#define CRC_POSITION 6

struct outcome {
	uint64_t count;
	uint64_t sizes;
	enum send_fault fault;
	uint64_t fault_position;
};

static void check_command(const struct send_command *command, uint64_t end)
{
	INVARIANT(send_command_name(command->type));
	INVARIANT(command->size <= end && command->position == end - command->size);
	INVARIANT(strlen(command->path) < PATH_MAX);
	INVARIANT(strlen(command->path_to) < PATH_MAX);
	INVARIANT(command->data_bytes < command->size);
}

/* In pieces of STEP bytes. */
static struct outcome read_stream(const uint8_t *data, size_t size, size_t step)
{
	CLEANUP_FREE struct send_stream *stream = fuzz_allocate(sizeof(*stream));
	CLEANUP_FREE uint8_t *piece = fuzz_allocate(step);
	struct outcome outcome = { 0 };
	int ret = 0;

	for (size_t start = 0; start < size && ret >= 0; start += step) {
		size_t left = size - start < step ? size - start : step;
		/* at the end of its memory, so that a sanitizer sees a byte too much */
		const void *bytes = memcpy(piece + step - left, data + start, left);
		struct send_command command;

		while ((ret = send_stream_next(stream, &bytes, &left, &command)) > 0) {
			check_command(&command, stream->position);
			outcome.count++;
			outcome.sizes += command.size;
		}
		INVARIANT(ret < 0 || left == 0);
	}
	if (ret >= 0)
		ret = send_stream_end(stream);
	INVARIANT(stream->position <= size);
	INVARIANT((ret < 0) == (stream->fault != SEND_FAULT_NONE));
	INVARIANT(ret == 0 || stream->fault_position <= stream->position);
	outcome.fault = stream->fault;
	outcome.fault_position = stream->fault_position;
	return outcome;
}

static void check_stream(const uint8_t *data, size_t size)
{
	struct outcome whole = read_stream(data, size, size ? size : 1);
	/* up to 64 of them */
	struct outcome pieces = read_stream(data, size, size / 64 + 1);

	INVARIANT(whole.count == pieces.count && whole.sizes == pieces.sizes);
	INVARIANT(whole.fault == pieces.fault);
	INVARIANT(whole.fault_position == pieces.fault_position);
}

/* Gives each command the checksum that it should have: no input would find its way past one. */
static void fix_checksums(uint8_t *data, size_t size)
{
	size_t position = STREAM_HEADER_SIZE;

	while (size > position && size - position >= COMMAND_HEADER_SIZE) {
		uint8_t *command = data + position;
		uint32_t length, crc;

		memcpy(&length, command, sizeof(length));
		length = le32toh(length);
		if (length > size - position - COMMAND_HEADER_SIZE)
			return;
		memset(command + CRC_POSITION, 0, sizeof(crc));
		crc = htole32(crc32c(0, command, COMMAND_HEADER_SIZE + length));
		memcpy(command + CRC_POSITION, &crc, sizeof(crc));
		position += COMMAND_HEADER_SIZE + length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE uint8_t *fixed = fuzz_copy(data, size);

	fix_checksums(fixed, size);
	if (size && memcmp(fixed, data, size) != 0)
		read_stream(data, size, size);
	check_stream(fixed, size);
	return 0;
}
