// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include "make-stream.h"
#include "send/send-stream.h"
#include "test.h"

#define STREAM_HEADER_SIZE 17
#define COMMAND_HEADER_SIZE 10

/* created by each test */
static struct made_stream made;
static struct send_stream stream;

static int setup(void **state)
{
	(void)state;
	memset(&made, 0, sizeof(made));
	memset(&stream, 0, sizeof(stream));
	return 0;
}

/* Reads what was made, STEP bytes at a time; returns how many commands there were, or an error. */
static int read_all(size_t step, struct send_command *ret_last)
{
	size_t position = 0;
	int count = 0;

	while (position < made.size) {
		size_t size = made.size - position < step ? made.size - position : step;
		const void *bytes = made.bytes + position;
		int ret;

		position += size;
		while ((ret = send_stream_next(&stream, &bytes, &size, ret_last)) > 0)
			count++;
		if (ret < 0)
			return ret;
		assert_int_equal(size, 0);
	}
	return count;
}

static void expect_fault(enum send_fault fault, uint64_t position)
{
	struct send_command command;
	const void *bytes = "more";
	size_t size = 4;
	int ret;

	ret = read_all(SIZE_MAX, &command);
	if (ret >= 0)
		ret = send_stream_end(&stream);
	assert_int_equal(ret, -EPROTO);
	assert_int_equal(stream.fault, fault);
	assert_int_equal(stream.fault_position, position);
	/* it stays so */
	assert_int_equal(send_stream_next(&stream, &bytes, &size, &command), -EPROTO);
	assert_int_equal(size, 4);
	assert_int_equal(send_stream_end(&stream), -EPROTO);
	assert_int_equal(stream.fault_position, position);
	assert_non_null(send_fault_text(fault));
}

TEST_WITH(test_write, setup, NULL)
{
	for (uint32_t protocol = 1; protocol <= SEND_PROTOCOL_MAX; protocol++) {
		const size_t attributes = 4 + 3 + 4 + 8 + (protocol == 1 ? 4 : 2);
		struct send_command command;

		setup(NULL);
		made_header(&made, protocol);
		made_write(&made, "a/b", 4096, 5000);
		assert_int_equal(read_all(SIZE_MAX, &command), 1);
		assert_int_equal(stream.protocol, protocol);
		assert_int_equal(command.type, SEND_WRITE);
		assert_int_equal(command.position, STREAM_HEADER_SIZE);
		assert_int_equal(command.size, COMMAND_HEADER_SIZE + attributes + 5000);
		assert_string_equal(command.path, "a/b");
		assert_string_equal(command.path_to, "");
		assert_int_equal(command.offset, 4096);
		assert_int_equal(command.length, 5000);
		assert_int_equal(command.data_bytes, 5000);
		made_end_command(&made);
		stream = (struct send_stream){ 0 };
		assert_int_equal(read_all(SIZE_MAX, &command), 2);
		assert_int_equal(send_stream_end(&stream), 0);
		assert_int_equal(stream.position, made.size);
	}
}

/* UUIDs of the subvolume and of its parent, or none. */
static void make_subvolume(uint16_t type, const char *uuid, const char *parent_uuid)
{
	setup(NULL);
	made_header(&made, 1);
	made_begin(&made, type);
	made_string(&made, SEND_A_PATH, "snapshot");
	if (uuid)
		made_attribute(&made, SEND_A_UUID, uuid, SEND_UUID_SIZE);
	made_u64(&made, SEND_A_CTRANSID, 31);
	if (parent_uuid)
		made_attribute(&made, SEND_A_CLONE_UUID, parent_uuid, SEND_UUID_SIZE);
	made_u64(&made, SEND_A_CLONE_CTRANSID, 30);
	made_end(&made);
}

TEST_WITH(test_uuids, setup, NULL)
{
	static const char own[] = "0123456789abcdef", parent[] = "fedcba9876543210";
	struct send_command command;

	for (size_t step = 1; step < 40; step += 13) {
		make_subvolume(SEND_SNAPSHOT, own, parent);
		assert_int_equal(read_all(step, &command), 1);
		assert_memory_equal(command.uuid, own, SEND_UUID_SIZE);
		assert_memory_equal(command.parent_uuid, parent, SEND_UUID_SIZE);
		assert_int_equal(command.ctransid, 31);
		assert_int_equal(command.parent_ctransid, 30);
	}
	make_subvolume(SEND_SNAPSHOT, NULL, NULL);
	assert_int_equal(read_all(SIZE_MAX, &command), 1);
	assert_null(command.uuid);
	assert_null(command.parent_uuid);
	/* a full stream has no parent, whatever it names */
	make_subvolume(SEND_SUBVOL, own, parent);
	assert_int_equal(read_all(SIZE_MAX, &command), 1);
	assert_null(command.parent_uuid);
}

static void make_ranges(void)
{
	static const struct {
		uint16_t type;
		uint16_t length;
	} kinds[] = {
		{ SEND_CLONE, SEND_A_CLONE_LEN },
		{ SEND_UPDATE_EXTENT, SEND_A_SIZE },
		{ SEND_FALLOCATE, SEND_A_SIZE },
		{ SEND_ENCODED_WRITE, SEND_A_UNENCODED_FILE_LEN },
	};

	made_header(&made, 2);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		made_begin(&made, kinds[i].type);
		made_string(&made, SEND_A_PATH, "file");
		made_u64(&made, SEND_A_FILE_OFFSET, 1000 + i);
		made_u64(&made, kinds[i].length, 1ULL << 40);
		if (kinds[i].type == SEND_ENCODED_WRITE)
			made_data(&made, 77);
		made_end(&made);
	}
}

TEST_WITH(test_ranges, setup, NULL)
{
	struct send_command command = { 0 };
	const void *bytes;
	size_t size;

	make_ranges();
	bytes = made.bytes;
	size = made.size;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(send_stream_next(&stream, &bytes, &size, &command), 1);
		assert_int_equal(command.offset, 1000 + i);
		assert_int_equal(command.length, 1ULL << 40);
		assert_int_equal(command.data_bytes, command.type == SEND_ENCODED_WRITE ? 77 : 0);
	}
	assert_int_equal(size, 0);
}

/* What one command is about is not what the next one is about. */
TEST_WITH(test_rename_and_after, setup, NULL)
{
	struct send_command command;

	made_header(&made, 1);
	made_write(&made, "before", 4096, 10);
	made_begin(&made, SEND_RENAME);
	made_string(&made, SEND_A_PATH, "o257-8-0");
	made_string(&made, SEND_A_PATH_TO, "name");
	made_end(&made);
	assert_int_equal(read_all(SIZE_MAX, &command), 2);
	assert_string_equal(command.path, "o257-8-0");
	assert_string_equal(command.path_to, "name");
	assert_int_equal(command.offset, 0);
	assert_int_equal(command.length, 0);
	assert_int_equal(command.data_bytes, 0);
	stream = (struct send_stream){ 0 };
	made_path_command(&made, SEND_UTIMES, "");
	assert_int_equal(read_all(SIZE_MAX, &command), 3);
	assert_string_equal(command.path, "");
	assert_string_equal(command.path_to, "");
	stream = (struct send_stream){ 0 };
	made_end_command(&made);
	assert_int_equal(read_all(SIZE_MAX, &command), 4);
	assert_int_equal(command.type, SEND_END);
	assert_int_equal(command.size, COMMAND_HEADER_SIZE);
}

TEST_WITH(test_pieces_of_any_size, setup, NULL)
{
	static const size_t steps[] = { 1, 2, 3, 7, 10, 17, 100, 4096 };

	make_ranges();
	made_write(&made, "another/file", 0, 100000);
	made_end_command(&made);
	/* a second stream behind it */
	made_header(&made, 1);
	made_path_command(&made, SEND_MKFILE, "x");
	made_end_command(&made);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct send_command command;

		stream = (struct send_stream){ 0 };
		assert_int_equal(read_all(steps[i], &command), 8);
		assert_int_equal(send_stream_end(&stream), 0);
		assert_int_equal(stream.protocol, 1);
	}
}

static enum send_fault fault_of_cut(size_t size, size_t before_end)
{
	if (!size)
		return SEND_FAULT_EMPTY;
	return size == STREAM_HEADER_SIZE || size == before_end ? SEND_FAULT_NO_END :
								  SEND_FAULT_CUT;
}

/* Wherever it is cut. */
TEST_WITH(test_cut, setup, NULL)
{
	size_t before_end;

	made_header(&made, 2);
	made_write(&made, "file", 0, 100);
	before_end = made.size;
	made_end_command(&made);
	while (made.size--) {
		stream = (struct send_stream){ 0 };
		expect_fault(fault_of_cut(made.size, before_end), made.size);
		if (!made.size)
			break;
	}
}

static int read_part(size_t begin, size_t size)
{
	const void *bytes = made.bytes + begin;
	struct send_command command;
	int ret;

	do
		ret = send_stream_next(&stream, &bytes, &size, &command);
	while (ret > 0);
	return ret;
}

/* What a send leaves that was interrupted after PART bytes, and restarted: they come in two pieces, or in one. */
static void expect_restart(size_t part, bool in_pieces)
{
	int ret = 0;

	stream = (struct send_stream){ 0 };
	if (in_pieces)
		ret = read_part(0, part);
	assert_int_equal(ret, 0);
	ret = read_part(stream.position, made.size - stream.position);
	if (ret == 0)
		ret = send_stream_end(&stream);
	assert_int_equal(ret, -EPROTO);
	assert_int_equal(stream.fault, SEND_FAULT_RESTART);
	assert_int_equal(stream.fault_position, part);
}

static void make_commands(uint32_t protocol)
{
	made_header(&made, protocol);
	made_path_command(&made, SEND_MKFILE, "btrfs-streak");
	made_write(&made, "file", 0, 3000);
	made_path_command(&made, SEND_MKFILE, "bc");
}

TEST_WITH(test_restart, setup, NULL)
{
	size_t whole;

	for (uint32_t protocol = 1; protocol <= 2; protocol++) {
		made.size = 0;
		make_commands(protocol);
		whole = made.size;
		for (size_t part = STREAM_HEADER_SIZE; part <= whole; part++) {
			made.size = part;
			make_commands(protocol);
			made_end_command(&made);
			expect_restart(part, true);
			expect_restart(part, false);
			made.size = 0;
			make_commands(protocol);
		}
	}
}

/* No flipped bit goes unseen, and none is seen before it comes. */
TEST_WITH(test_every_flipped_bit, setup, NULL)
{
	made_header(&made, 1);
	made_path_command(&made, SEND_MKFILE, "file");
	made_write(&made, "file", 0, 10);
	made_end_command(&made);
	for (size_t bit = 0; bit < 8 * made.size; bit++) {
		struct send_command command;
		int ret;

		/* protocol 2 and 3 are right, too */
		if (bit / 8 == 13)
			continue;
		stream = (struct send_stream){ 0 };
		made.bytes[bit / 8] ^= 1 << bit % 8;
		ret = read_all(SIZE_MAX, &command);
		if (ret >= 0)
			ret = send_stream_end(&stream);
		assert_int_equal(ret, -EPROTO);
		made.bytes[bit / 8] ^= 1 << bit % 8;
	}
}

TEST_WITH(test_what_is_no_stream, setup, NULL)
{
	made_header(&made, 4);
	expect_fault(SEND_FAULT_PROTOCOL, 13);
	setup(NULL);
	made_header(&made, 0);
	expect_fault(SEND_FAULT_PROTOCOL, 13);
	setup(NULL);
	made_header(&made, 1);
	made.bytes[0] = 'B';
	expect_fault(SEND_FAULT_MAGIC, 0);
	setup(NULL);
	made_header(&made, 1);
	made_end_command(&made);
	made_string(&made, 1, "what comes behind the end");
	expect_fault(SEND_FAULT_MAGIC, STREAM_HEADER_SIZE + COMMAND_HEADER_SIZE);
}

/* Each protocol has its commands and its attributes. */
TEST_WITH(test_what_a_protocol_lacks, setup, NULL)
{
	static const struct {
		uint32_t protocol;
		uint16_t command;
		uint16_t attribute;
		enum send_fault fault;
	} cases[] = {
		{ 1, 0, SEND_A_CTRANSID, SEND_FAULT_COMMAND },
		{ 1, SEND_FALLOCATE, SEND_A_CTRANSID, SEND_FAULT_COMMAND },
		{ 2, SEND_ENABLE_VERITY, SEND_A_CTRANSID, SEND_FAULT_COMMAND },
		{ 3, SEND_COMMAND_COUNT, SEND_A_CTRANSID, SEND_FAULT_COMMAND },
		{ 1, SEND_CHMOD, 0, SEND_FAULT_ATTRIBUTE },
		{ 1, SEND_CHMOD, SEND_A_FILEATTR, SEND_FAULT_ATTRIBUTE },
		{ 2, SEND_CHMOD, SEND_A_VERITY_SALT_DATA, SEND_FAULT_ATTRIBUTE },
		{ 3, SEND_CHMOD, SEND_ATTRIBUTE_COUNT, SEND_FAULT_ATTRIBUTE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t attribute;

		setup(NULL);
		made_header(&made, cases[i].protocol);
		made_begin(&made, cases[i].command);
		made_string(&made, SEND_A_PATH, "x");
		attribute = made.size;
		made_u64(&made, cases[i].attribute, 0);
		made_end(&made);
		expect_fault(cases[i].fault,
			     cases[i].fault == SEND_FAULT_COMMAND ? STREAM_HEADER_SIZE : attribute);
	}
}

TEST_WITH(test_lengths, setup, NULL)
{
	char long_path[PATH_MAX + 1];
	size_t position;

	/* a number that is none */
	made_header(&made, 1);
	made_begin(&made, SEND_CHMOD);
	position = made.size + 2;
	made_attribute(&made, SEND_A_MODE, "1234", 4);
	made_end(&made);
	expect_fault(SEND_FAULT_LENGTH, position);

	/* an attribute longer than the command, by its length and by its header */
	setup(NULL);
	made_header(&made, 1);
	made_path_command(&made, SEND_MKFILE, "file");
	made.bytes[STREAM_HEADER_SIZE + COMMAND_HEADER_SIZE + 2]++;
	expect_fault(SEND_FAULT_LENGTH, STREAM_HEADER_SIZE + COMMAND_HEADER_SIZE + 2);
	setup(NULL);
	made_header(&made, 1);
	made_path_command(&made, SEND_MKFILE, "file");
	made.bytes[STREAM_HEADER_SIZE] = 3;
	expect_fault(SEND_FAULT_LENGTH, STREAM_HEADER_SIZE + COMMAND_HEADER_SIZE);

	/* the longest path, and one more */
	memset(long_path, 'x', PATH_MAX);
	long_path[PATH_MAX] = '\0';
	setup(NULL);
	made_header(&made, 1);
	made_path_command(&made, SEND_MKFILE, long_path + 1);
	made_end_command(&made);
	assert_int_equal(read_all(SIZE_MAX, &(struct send_command){ 0 }), 2);
	setup(NULL);
	made_header(&made, 1);
	made_path_command(&made, SEND_MKFILE, long_path);
	expect_fault(SEND_FAULT_PATH, STREAM_HEADER_SIZE + COMMAND_HEADER_SIZE + 2);

	/* 64 KiB are the most in protocol 1 */
	setup(NULL);
	made_header(&made, 1);
	made_begin(&made, SEND_SET_XATTR);
	made_string(&made, SEND_A_PATH, "");
	made_attribute(&made, SEND_A_XATTR_DATA, long_path, 4096);
	made_end(&made);
	made.bytes[STREAM_HEADER_SIZE + 2] = 1;
	expect_fault(SEND_FAULT_LENGTH, STREAM_HEADER_SIZE);
}

/* 64 KiB are the most in protocol 1, the header included. */
TEST_WITH(test_largest_command, setup, NULL)
{
	static const char value[65536 - COMMAND_HEADER_SIZE - 2 * 4 + 1];
	struct send_command command;

	for (size_t more = 0; more < 2; more++) {
		setup(NULL);
		made_header(&made, 1);
		made_begin(&made, SEND_SET_XATTR);
		made_string(&made, SEND_A_PATH, "");
		made_attribute(&made, SEND_A_XATTR_DATA, value, sizeof(value) - 1 + more);
		made_end(&made);
		if (more)
			expect_fault(SEND_FAULT_LENGTH, STREAM_HEADER_SIZE);
		else
			assert_int_equal(read_all(SIZE_MAX, &command), 1);
	}
	assert_int_equal(command.size, 65536);
}

TEST_WITH(test_paths, setup, NULL)
{
	made_header(&made, 1);
	made_begin(&made, SEND_MKFILE);
	made_attribute(&made, SEND_A_PATH, "a\0b", 3);
	made_end(&made);
	expect_fault(SEND_FAULT_PATH, STREAM_HEADER_SIZE + COMMAND_HEADER_SIZE + 4);
}

TEST_WITH(test_missing_and_repeated_attributes, setup, NULL)
{
	size_t position;

	made_header(&made, 1);
	made_begin(&made, SEND_MKFILE);
	made_u64(&made, SEND_A_INO, 257);
	made_end(&made);
	expect_fault(SEND_FAULT_MISSING, STREAM_HEADER_SIZE);

	setup(NULL);
	made_header(&made, 1);
	made_begin(&made, SEND_WRITE);
	made_string(&made, SEND_A_PATH, "x");
	made_data(&made, 4);
	made_end(&made);
	expect_fault(SEND_FAULT_MISSING, STREAM_HEADER_SIZE);

	setup(NULL);
	made_header(&made, 1);
	made_begin(&made, SEND_MKFILE);
	made_string(&made, SEND_A_PATH, "x");
	position = made.size;
	made_string(&made, SEND_A_PATH, "y");
	made_end(&made);
	expect_fault(SEND_FAULT_ATTRIBUTE, position);
}

static void made_needed(uint16_t attribute)
{
	if (attribute == SEND_A_DATA)
		made_data(&made, 4);
	else if (attribute == SEND_A_PATH || attribute == SEND_A_PATH_TO)
		made_string(&made, attribute, "x");
	else
		made_u64(&made, attribute, 4);
}

/* Each of them in turn. */
TEST_WITH(test_every_missing_attribute, setup, NULL)
{
	static const struct {
		uint16_t command;
		/* ended by 0 */
		uint16_t needed[5];
	} cases[] = {
		{ SEND_RENAME, { SEND_A_PATH, SEND_A_PATH_TO } },
		{ SEND_WRITE, { SEND_A_PATH, SEND_A_FILE_OFFSET, SEND_A_DATA } },
		{ SEND_CLONE, { SEND_A_PATH, SEND_A_FILE_OFFSET, SEND_A_CLONE_LEN } },
		{ SEND_UPDATE_EXTENT, { SEND_A_PATH, SEND_A_FILE_OFFSET, SEND_A_SIZE } },
		{ SEND_FALLOCATE, { SEND_A_PATH, SEND_A_FILE_OFFSET, SEND_A_SIZE } },
		{ SEND_ENCODED_WRITE,
		  { SEND_A_PATH, SEND_A_FILE_OFFSET, SEND_A_UNENCODED_FILE_LEN, SEND_A_DATA } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint16_t *needed = cases[i].needed;

		for (size_t missing = 0; needed[missing]; missing++) {
			setup(NULL);
			made_header(&made, 2);
			made_begin(&made, cases[i].command);
			for (size_t j = 0; needed[j]; j++)
				if (j != missing)
					made_needed(needed[j]);
			made_end(&made);
			expect_fault(SEND_FAULT_MISSING, STREAM_HEADER_SIZE);
		}
	}
}

/* The names and the last numbers of the protocols fit together. */
TEST_WITH(test_command_names, setup, NULL)
{
	for (int type = 1; type < SEND_COMMAND_COUNT; type++)
		assert_non_null(send_command_name(type));
	assert_string_equal(send_command_name(SEND_SUBVOL), "subvol");
	assert_string_equal(send_command_name(SEND_ENABLE_VERITY), "enable_verity");
	assert_int_equal(send_protocol_last_command(1), 22);
	assert_int_equal(send_protocol_last_command(2), 25);
	assert_int_equal(send_protocol_last_command(3), 26);
	assert_int_equal(send_protocol_last_attribute(1), 24);
	assert_int_equal(send_protocol_last_attribute(2), 31);
	assert_int_equal(send_protocol_last_attribute(3), 35);
}
