// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "send/send-estimate.h"
#include "test.h"

#define PAGE 4096

/* Around the data of a write of "12345", in protocol 1 and later. */
#define AROUND_V1 (10 + 4 + 5 + 4 + 8 + 4)
#define AROUND (AROUND_V1 - 2)

static struct send_command update(uint64_t length)
{
	return (struct send_command){
		.type = SEND_UPDATE_EXTENT,
		.size = 51,
		.path = "12345",
		.length = length,
	};
}

TEST(test_extents)
{
	static const struct {
		uint32_t protocol;
		size_t page_size;
		uint64_t length;
		uint64_t size;
	} cases[] = {
		{ 1, PAGE, 0, 0 },
		{ 1, PAGE, 1, AROUND_V1 + 1 },
		{ 1, PAGE, KIB(48), AROUND_V1 + KIB(48) },
		{ 1, PAGE, KIB(48) + 1, 2 * AROUND_V1 + KIB(48) + 1 },
		{ 1, KIB(64), KIB(96), 2 * AROUND_V1 + KIB(96) },
		{ 1, PAGE, 3 * MIB(1024), 65536 * AROUND_V1 + 3 * MIB(1024) },
		{ 2, PAGE, 1, AROUND + 1 },
		{ 2, PAGE, KIB(128), AROUND + KIB(128) },
		{ 2, PAGE, KIB(128) + 1, 2 * AROUND + KIB(128) + 1 },
		{ 3, PAGE, MIB(128), 1024 * AROUND + MIB(128) },
		/* the buffer is of whole pages */
		{ 2, KIB(16), KIB(128) + 1, 2 * AROUND + KIB(128) + 1 },
		{ 2, KIB(64), KIB(176), AROUND + KIB(176) },
		{ 2, KIB(64), KIB(176) + 1, 2 * AROUND + KIB(176) + 1 },
		/* what no kernel says */
		{ 1, PAGE, UINT64_MAX, UINT64_MAX },
		{ 2, PAGE, UINT64_MAX - 1, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct send_command command = update(cases[i].length);

		assert_int_equal(send_estimate_size(&command, cases[i].protocol,
						    cases[i].page_size),
				 cases[i].size);
	}
}

/* What is not about data is as it is. */
TEST(test_other_commands)
{
	for (int type = 1; type < SEND_COMMAND_COUNT; type++) {
		struct send_command command = update(MIB(1));

		command.type = type;
		if (type != SEND_UPDATE_EXTENT)
			assert_int_equal(send_estimate_size(&command, 1, PAGE), 51);
	}
}

TEST(test_encoded)
{
	struct file_extent extent = { .disk_bytes = KIB(8), .is_compressed = true };
	struct send_command command = update(KIB(128));

	assert_int_equal(send_estimate_encoded_size(&command, &extent),
			 10 + (4 + 5) + 4 * (4 + 8) + 2 * (4 + 4) + 2 + KIB(8));
	extent.is_inline = true;
	assert_int_equal(send_estimate_encoded_size(&command, &extent),
			 10 + (4 + 5) + 4 * (4 + 8) + (4 + 4) + 2 + KIB(8));
	extent.disk_bytes = UINT64_MAX;
	assert_int_equal(send_estimate_encoded_size(&command, &extent), UINT64_MAX);
}

/* Not if it were more than without compression. */
TEST(test_what_is_encoded)
{
	struct file_extent extent = { .disk_bytes = KIB(8), .is_compressed = true };

	assert_true(send_estimate_is_encoded(&extent, KIB(8)));
	assert_false(send_estimate_is_encoded(&extent, KIB(8) - 1));
	extent.is_compressed = false;
	assert_false(send_estimate_is_encoded(&extent, KIB(128)));
}
