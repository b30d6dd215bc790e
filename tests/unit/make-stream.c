// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <string.h>

#include "make-stream.h"
#include "num/digest.h"
#include "send/send-command.h"
#include "test.h"

#define HEADER_SIZE 10

static void append(struct made_stream *stream, const void *bytes, size_t size)
{
	assert_true(size <= sizeof(stream->bytes) - stream->size);
	if (size)
		memcpy(stream->bytes + stream->size, bytes, size);
	stream->size += size;
}

static void append16(struct made_stream *stream, uint16_t value)
{
	uint16_t bytes = htole16(value);

	append(stream, &bytes, sizeof(bytes));
}

static void append32(struct made_stream *stream, uint32_t value)
{
	uint32_t bytes = htole32(value);

	append(stream, &bytes, sizeof(bytes));
}

void made_header(struct made_stream *stream, uint32_t protocol)
{
	stream->protocol = protocol;
	append(stream, "btrfs-stream", 13);
	append32(stream, protocol);
}

void made_begin(struct made_stream *stream, uint16_t type)
{
	stream->command = stream->size;
	append32(stream, 0);
	append16(stream, type);
	append32(stream, 0);
}

void made_attribute(struct made_stream *stream, uint16_t attribute, const void *value, size_t size)
{
	append16(stream, attribute);
	if (attribute != SEND_A_DATA || stream->protocol == 1)
		append16(stream, size);
	append(stream, value, size);
}

void made_string(struct made_stream *stream, uint16_t attribute, const char *value)
{
	made_attribute(stream, attribute, value, strlen(value));
}

void made_u64(struct made_stream *stream, uint16_t attribute, uint64_t value)
{
	uint64_t bytes = htole64(value);

	made_attribute(stream, attribute, &bytes, sizeof(bytes));
}

void made_data(struct made_stream *stream, size_t size)
{
	static const uint8_t zeros[MADE_STREAM_SIZE];

	made_attribute(stream, SEND_A_DATA, zeros, size);
}

void made_end(struct made_stream *stream)
{
	uint8_t *header = stream->bytes + stream->command;
	uint32_t value = htole32(stream->size - stream->command - HEADER_SIZE);

	memcpy(header, &value, sizeof(value));
	memset(header + 6, 0, sizeof(value));
	value = htole32(crc32c_portable(0, header, stream->size - stream->command));
	memcpy(header + 6, &value, sizeof(value));
}

void made_path_command(struct made_stream *stream, uint16_t type, const char *path)
{
	made_begin(stream, type);
	made_string(stream, SEND_A_PATH, path);
	made_end(stream);
}

void made_write(struct made_stream *stream, const char *path, uint64_t offset, size_t size)
{
	made_begin(stream, SEND_WRITE);
	made_string(stream, SEND_A_PATH, path);
	made_u64(stream, SEND_A_FILE_OFFSET, offset);
	made_data(stream, size);
	made_end(stream);
}

void made_end_command(struct made_stream *stream)
{
	made_begin(stream, SEND_END);
	made_end(stream);
}
