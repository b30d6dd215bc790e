// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "send/send-command.h"
#include "test.h"

/* A name each, of lower case letters, and none of them twice. */
TEST(test_names)
{
	for (int i = 1; i < SEND_COMMAND_COUNT; i++) {
		const char *name = send_command_name(i);

		assert_non_null(name);
		assert_true(*name);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
		for (int j = 1; j < i; j++)
			assert_string_not_equal(send_command_name(j), name);
	}
}

/* The numbers are those of the stream: enum btrfs_send_cmd and its attributes (fs/btrfs/send.h). */
TEST(test_numbers)
{
	assert_string_equal(send_command_name(1), "subvol");
	assert_string_equal(send_command_name(9), "rename");
	assert_string_equal(send_command_name(15), "write");
	assert_string_equal(send_command_name(21), "end");
	assert_string_equal(send_command_name(22), "update_extent");
	assert_string_equal(send_command_name(25), "encoded_write");
	assert_string_equal(send_command_name(26), "enable_verity");
	assert_int_equal(SEND_A_PATH, 15);
	assert_int_equal(SEND_A_DATA, 19);
	assert_int_equal(SEND_A_ENCRYPTION, 31);
}

TEST(test_protocols)
{
	assert_int_equal(send_protocol_last_command(1), 22);
	assert_int_equal(send_protocol_last_command(2), 25);
	assert_int_equal(send_protocol_last_command(SEND_PROTOCOL_MAX), SEND_COMMAND_COUNT - 1);
	assert_int_equal(send_protocol_last_attribute(1), 24);
	assert_int_equal(send_protocol_last_attribute(2), 31);
	assert_int_equal(send_protocol_last_attribute(SEND_PROTOCOL_MAX), SEND_ATTRIBUTE_COUNT - 1);
}
