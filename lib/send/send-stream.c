// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include "num/digest.h"
#include "send/send-stream.h"

#define MAGIC "btrfs-stream"
/* the magic with its NUL byte, and the protocol */
#define STREAM_HEADER_SIZE (sizeof(MAGIC) + 4)
/* length of the body, command, checksum */
#define COMMAND_HEADER_SIZE 10
#define CRC_POSITION 6
/* No command of protocol 1 is larger; later ones know no limit. */
#define COMMAND_SIZE_MAX_V1 65536

/* What is read next. The first one is where a stream begins. */
enum field {
	FIELD_STREAM_HEADER,
	FIELD_COMMAND_HEADER,
	FIELD_ATTRIBUTE_TYPE,
	FIELD_ATTRIBUTE_LENGTH,
	FIELD_VALUE,
};

#define VARIABLE 0

/* The size of each attribute's value. */
static const uint8_t value_sizes[SEND_ATTRIBUTE_COUNT] = {
	[SEND_A_UUID] = 16,
	[SEND_A_CTRANSID] = 8,
	[SEND_A_INO] = 8,
	[SEND_A_SIZE] = 8,
	[SEND_A_MODE] = 8,
	[SEND_A_UID] = 8,
	[SEND_A_GID] = 8,
	[SEND_A_RDEV] = 8,
	[SEND_A_CTIME] = 12,
	[SEND_A_MTIME] = 12,
	[SEND_A_ATIME] = 12,
	[SEND_A_OTIME] = 12,
	[SEND_A_XATTR_NAME] = VARIABLE,
	[SEND_A_XATTR_DATA] = VARIABLE,
	[SEND_A_PATH] = VARIABLE,
	[SEND_A_PATH_TO] = VARIABLE,
	[SEND_A_PATH_LINK] = VARIABLE,
	[SEND_A_FILE_OFFSET] = 8,
	[SEND_A_DATA] = VARIABLE,
	[SEND_A_CLONE_UUID] = 16,
	[SEND_A_CLONE_CTRANSID] = 8,
	[SEND_A_CLONE_PATH] = VARIABLE,
	[SEND_A_CLONE_OFFSET] = 8,
	[SEND_A_CLONE_LEN] = 8,
	[SEND_A_FALLOCATE_MODE] = 4,
	[SEND_A_FILEATTR] = 8,
	[SEND_A_UNENCODED_FILE_LEN] = 8,
	[SEND_A_UNENCODED_LEN] = 8,
	[SEND_A_UNENCODED_OFFSET] = 8,
	[SEND_A_COMPRESSION] = 4,
	[SEND_A_ENCRYPTION] = 4,
	[SEND_A_VERITY_ALGORITHM] = 1,
	[SEND_A_VERITY_BLOCK_SIZE] = 4,
	[SEND_A_VERITY_SALT_DATA] = VARIABLE,
	[SEND_A_VERITY_SIG_DATA] = VARIABLE,
};

#define BIT(attribute) (UINT64_C(1) << (attribute))

/* What a report on a command needs; all but the last one of a stream have a path, too. */
static const uint64_t required[SEND_COMMAND_COUNT] = {
	[SEND_RENAME] = BIT(SEND_A_PATH_TO),
	[SEND_WRITE] = BIT(SEND_A_FILE_OFFSET) | BIT(SEND_A_DATA),
	[SEND_CLONE] = BIT(SEND_A_FILE_OFFSET) | BIT(SEND_A_CLONE_LEN),
	[SEND_UPDATE_EXTENT] = BIT(SEND_A_FILE_OFFSET) | BIT(SEND_A_SIZE),
	[SEND_FALLOCATE] = BIT(SEND_A_FILE_OFFSET) | BIT(SEND_A_SIZE),
	[SEND_ENCODED_WRITE] = BIT(SEND_A_FILE_OFFSET) | BIT(SEND_A_UNENCODED_FILE_LEN) |
			       BIT(SEND_A_DATA),
};

static uint16_t get16(const uint8_t *bytes)
{
	return bytes[0] | bytes[1] << 8;
}

static uint32_t get32(const uint8_t *bytes)
{
	return get16(bytes) | (uint32_t)get16(bytes + 2) << 16;
}

static uint64_t get64(const uint8_t *bytes)
{
	return get32(bytes) | (uint64_t)get32(bytes + 4) << 32;
}

static int fail(struct send_stream *stream, enum send_fault fault, uint64_t position)
{
	stream->fault = fault;
	stream->fault_position = position;
	return -EPROTO;
}

static void expect(struct send_stream *stream, enum field field, void *target, size_t size)
{
	stream->field = field;
	stream->field_position = stream->position;
	stream->target = target;
	stream->left = size;
	stream->reading = true;
}

static void expect_command(struct send_stream *stream)
{
	expect(stream, FIELD_COMMAND_HEADER, stream->scratch, COMMAND_HEADER_SIZE);
}

/* A field within the command, for which there has to be room. */
static int expect_part(struct send_stream *stream, enum field field, void *target, uint64_t size)
{
	if (size > stream->body_left)
		return fail(stream, SEND_FAULT_LENGTH, stream->field_position);
	stream->body_left -= size;
	expect(stream, field, target, size);
	return 0;
}

/* -- what to do when a field is complete: 1 if it was a command's last one, 0, or -EPROTO -- */

static int stream_header_done(struct send_stream *stream)
{
	uint32_t protocol = get32(stream->scratch + sizeof(MAGIC));

	if (memcmp(stream->scratch, MAGIC, sizeof(MAGIC)) != 0)
		return fail(stream, SEND_FAULT_MAGIC, stream->field_position);
	if (!protocol || protocol > SEND_PROTOCOL_MAX)
		return fail(stream, SEND_FAULT_PROTOCOL, stream->field_position + sizeof(MAGIC));

	stream->protocol = protocol;
	stream->is_open = true;
	expect_command(stream);
	return 0;
}

static void sum_up(struct send_command *command, const struct send_stream *stream)
{
	static const uint8_t lengths[SEND_COMMAND_COUNT] = {
		[SEND_CLONE] = SEND_A_CLONE_LEN,
		[SEND_UPDATE_EXTENT] = SEND_A_SIZE,
		[SEND_FALLOCATE] = SEND_A_SIZE,
		[SEND_ENCODED_WRITE] = SEND_A_UNENCODED_FILE_LEN,
	};

	command->path = stream->path;
	command->path_to = stream->path_to;
	if (stream->attributes & BIT(SEND_A_UUID))
		command->uuid = stream->uuid;
	/* That of a clone is where its data comes from. */
	if (stream->attributes & BIT(SEND_A_CLONE_UUID) && command->type == SEND_SNAPSHOT)
		command->parent_uuid = stream->parent_uuid;
	command->ctransid = stream->numbers[SEND_A_CTRANSID];
	command->parent_ctransid = stream->numbers[SEND_A_CLONE_CTRANSID];
	command->inode = stream->numbers[SEND_A_INO];
	command->offset = stream->numbers[SEND_A_FILE_OFFSET];
	command->length = command->type == SEND_WRITE ? command->data_bytes :
							stream->numbers[lengths[command->type]];
}

static int command_done(struct send_stream *stream)
{
	struct send_command *command = &stream->command;
	uint64_t needed = required[command->type];

	if (stream->crc != stream->expected_crc)
		return fail(stream, SEND_FAULT_CHECKSUM, command->position);
	if (command->type != SEND_END)
		needed |= BIT(SEND_A_PATH);
	if ((stream->attributes & needed) != needed)
		return fail(stream, SEND_FAULT_MISSING, command->position);

	sum_up(command, stream);
	if (command->type == SEND_END) {
		stream->is_open = false;
		expect(stream, FIELD_STREAM_HEADER, stream->scratch, STREAM_HEADER_SIZE);
	} else {
		expect_command(stream);
	}
	return 1;
}

/* A part of the command is complete, and its checksum up to date. */
static int part_done(struct send_stream *stream)
{
	if (!stream->body_left)
		return command_done(stream);
	return expect_part(stream, FIELD_ATTRIBUTE_TYPE, stream->scratch, 2);
}

static int command_header_done(struct send_stream *stream)
{
	uint8_t *header = stream->scratch;
	uint32_t length = get32(header);
	unsigned int type = get16(header + 4);

	if (!type || type > send_protocol_last_command(stream->protocol))
		return fail(stream, SEND_FAULT_COMMAND, stream->field_position);
	if (stream->protocol == 1 && length > COMMAND_SIZE_MAX_V1 - COMMAND_HEADER_SIZE)
		return fail(stream, SEND_FAULT_LENGTH, stream->field_position);

	stream->command = (struct send_command){
		.type = type,
		.position = stream->field_position,
		.size = COMMAND_HEADER_SIZE + (uint64_t)length,
	};
	stream->body_left = length;
	stream->attributes = 0;
	stream->path[0] = stream->path_to[0] = '\0';
	memset(stream->numbers, 0, sizeof(stream->numbers));
	/* The checksum is of the command with zeros in its place. */
	stream->expected_crc = get32(header + CRC_POSITION);
	memset(header + CRC_POSITION, 0, COMMAND_HEADER_SIZE - CRC_POSITION);
	stream->crc = crc32c(0, header, COMMAND_HEADER_SIZE);
	return 0;
}

/* Where a value is kept, and how much fits; NULL: nowhere. */
static void *target_of(struct send_stream *stream, unsigned int attribute)
{
	if (attribute == SEND_A_PATH)
		return stream->path;
	if (attribute == SEND_A_PATH_TO)
		return stream->path_to;
	if (attribute == SEND_A_UUID)
		return stream->uuid;
	if (attribute == SEND_A_CLONE_UUID)
		return stream->parent_uuid;
	return value_sizes[attribute] == 8 ? stream->scratch : NULL;
}

static int expect_value(struct send_stream *stream, uint64_t size)
{
	unsigned int attribute = stream->attribute;
	bool is_path = attribute == SEND_A_PATH || attribute == SEND_A_PATH_TO;

	if (value_sizes[attribute] != VARIABLE && size != value_sizes[attribute])
		return fail(stream, SEND_FAULT_LENGTH, stream->field_position);
	if (is_path && size >= sizeof(stream->path))
		return fail(stream, SEND_FAULT_PATH, stream->field_position);
	stream->attributes |= BIT(attribute);
	if (attribute == SEND_A_DATA)
		stream->command.data_bytes = size;
	if (is_path)
		((char *)target_of(stream, attribute))[size] = '\0';
	return expect_part(stream, FIELD_VALUE, target_of(stream, attribute), size);
}

static int attribute_type_done(struct send_stream *stream)
{
	unsigned int attribute = get16(stream->scratch);

	if (!attribute || attribute > send_protocol_last_attribute(stream->protocol) ||
	    stream->attributes & BIT(attribute))
		return fail(stream, SEND_FAULT_ATTRIBUTE, stream->field_position);
	stream->attribute = attribute;
	/* From protocol 2 on data is what is left of the command. */
	if (attribute == SEND_A_DATA && stream->protocol >= 2)
		return expect_value(stream, stream->body_left);
	return expect_part(stream, FIELD_ATTRIBUTE_LENGTH, stream->scratch, 2);
}

static int value_done(struct send_stream *stream)
{
	unsigned int attribute = stream->attribute;

	if (value_sizes[attribute] == 8)
		stream->numbers[attribute] = get64(stream->scratch);
	if ((attribute == SEND_A_PATH || attribute == SEND_A_PATH_TO) &&
	    strlen(target_of(stream, attribute)) != stream->position - stream->field_position)
		return fail(stream, SEND_FAULT_PATH, stream->field_position);
	return part_done(stream);
}

/* -- a sender that restarted -- */

static uint64_t command_position(const struct send_stream *stream)
{
	return stream->field == FIELD_COMMAND_HEADER ? stream->field_position :
						       stream->command.position;
}

/*
 * A stream that begins again has its magic within a command. DATA has the SIZE bytes of the stream from
 * POSITION on.
 */
static void look_for_magic(struct send_stream *stream, const uint8_t *data, size_t size,
			   uint64_t position)
{
	const uint8_t *magic = (const uint8_t *)MAGIC;
	uint64_t begin = command_position(stream);

	if (!stream->is_open)
		return;
	if (begin >= position)
		stream->magic_matched = 0;
	for (size_t i = begin > position ? begin - position : 0;
	     i < size && stream->magic_matched < sizeof(MAGIC); i++) {
		/* Only its first byte is a b. */
		if (data[i] == magic[stream->magic_matched])
			stream->magic_matched++;
		else
			stream->magic_matched = data[i] == magic[0];
		stream->magic_position = position + i + 1 - stream->magic_matched;
	}
}

/*
 * The kernel restarts a send that a signal interrupted, even if it has written a part of the stream: then
 * another stream follows a part of a command. So a fault waits while what comes can be a magic.
 * Returns as send_stream_next().
 */
static int await_magic(struct send_stream *stream, const void **buffer, size_t *size)
{
	const uint8_t *data = *buffer;

	for (; *size && stream->magic_matched && stream->magic_matched < sizeof(MAGIC); --*size) {
		look_for_magic(stream, data++, 1, stream->position);
		stream->position++;
	}
	*buffer = data;
	if (stream->magic_matched == sizeof(MAGIC))
		return fail(stream, SEND_FAULT_RESTART, stream->magic_position);
	if (!stream->magic_matched)
		return fail(stream, stream->waiting_fault, stream->waiting_position);
	return 0;
}

/* -- bytes -- */

/* The bytes at hand; those from UNSUMMED on are not in the command's checksum yet. */
struct input {
	const uint8_t *data;
	const uint8_t *end;
	const uint8_t *unsummed;
};

static void sum_input(struct send_stream *stream, struct input *input)
{
	stream->crc = crc32c(stream->crc, input->unsummed, input->data - input->unsummed);
	input->unsummed = input->data;
}

static void take(struct send_stream *stream, struct input *input)
{
	size_t size = input->end - input->data;

	if (size > stream->left)
		size = stream->left;
	if (stream->target && size) {
		memcpy(stream->target, input->data, size);
		stream->target += size;
	}
	stream->left -= size;
	stream->position += size;
	input->data += size;
}

static int field_done(struct send_stream *stream, struct input *input)
{
	int ret;

	switch ((enum field)stream->field) {
	case FIELD_STREAM_HEADER:
		return stream_header_done(stream);
	case FIELD_COMMAND_HEADER:
		ret = command_header_done(stream);
		input->unsummed = input->data;
		return ret < 0 ? ret : part_done(stream);
	case FIELD_ATTRIBUTE_TYPE:
		return attribute_type_done(stream);
	case FIELD_ATTRIBUTE_LENGTH:
		return expect_value(stream, get16(stream->scratch));
	case FIELD_VALUE:
		if (!stream->body_left)
			sum_input(stream, input);
		return value_done(stream);
	}
	return -EPROTO;
}

static int next_command(struct send_stream *stream, struct input *input)
{
	for (;;) {
		int ret;

		take(stream, input);
		if (stream->left) {
			sum_input(stream, input);
			return 0;
		}
		ret = field_done(stream, input);
		if (ret)
			return ret;
	}
}

int send_stream_next(struct send_stream *stream, const void **buffer, size_t *size,
		     struct send_command *ret_command)
{
	struct input input = { *buffer, (const uint8_t *)*buffer + *size, *buffer };
	uint64_t begin;
	int ret;

	if (stream->fault)
		return -EPROTO;
	if (stream->waiting_fault)
		return await_magic(stream, buffer, size);
	if (!stream->reading)
		expect(stream, FIELD_STREAM_HEADER, stream->scratch, STREAM_HEADER_SIZE);
	begin = stream->position;
	ret = next_command(stream, &input);
	if (ret > 0) {
		stream->magic_matched = 0;
		*ret_command = stream->command;
	} else {
		look_for_magic(stream, *buffer, stream->position - begin, begin);
	}
	*buffer = input.data;
	*size = input.end - input.data;
	if (ret >= 0 || !stream->is_open)
		return ret;
	stream->waiting_fault = stream->fault;
	stream->waiting_position = stream->fault_position;
	stream->fault = SEND_FAULT_NONE;
	return await_magic(stream, buffer, size);
}

/* -- the end -- */

int send_stream_end(struct send_stream *stream)
{
	bool between = !stream->reading || stream->position == stream->field_position;

	if (stream->fault)
		return -EPROTO;
	if (stream->waiting_fault)
		return fail(stream, stream->waiting_fault, stream->waiting_position);
	if (!stream->position)
		return fail(stream, SEND_FAULT_EMPTY, 0);
	if (stream->is_open && stream->magic_matched == sizeof(MAGIC))
		return fail(stream, SEND_FAULT_RESTART, stream->magic_position);
	if (!between || (stream->is_open && stream->field != FIELD_COMMAND_HEADER))
		return fail(stream, SEND_FAULT_CUT, stream->position);
	if (stream->is_open)
		return fail(stream, SEND_FAULT_NO_END, stream->position);
	return 0;
}

const char *send_fault_text(enum send_fault fault)
{
	static const char *const texts[] = {
		[SEND_FAULT_NONE] = "nothing is wrong",
		[SEND_FAULT_MAGIC] = "this is not the beginning of a send stream",
		[SEND_FAULT_PROTOCOL] = "unknown protocol",
		[SEND_FAULT_COMMAND] = "unknown command",
		[SEND_FAULT_ATTRIBUTE] = "unknown or repeated attribute",
		[SEND_FAULT_LENGTH] = "wrong length",
		[SEND_FAULT_PATH] = "invalid path",
		[SEND_FAULT_MISSING] = "command without a required attribute",
		[SEND_FAULT_CHECKSUM] = "wrong checksum of a command",
		[SEND_FAULT_EMPTY] = "it is empty",
		[SEND_FAULT_CUT] = "it is cut off",
		[SEND_FAULT_NO_END] = "it is cut off before the end command",
		[SEND_FAULT_RESTART] = "the stream restarts: its sender was stopped and continued",
	};

	return texts[fault];
}
