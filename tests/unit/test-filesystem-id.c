// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "filesystem-id.h"
#include "test.h"

static void test_text(void **state)
{
	static const uint8_t fsid[FSID_SIZE] = {
		0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0xa0, 0x10,
		0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x09,
	};
	char text[FSID_TEXT_SIZE];

	(void)state;
	assert_string_equal(filesystem_id_text(text, fsid), "00017f80-ff0a-a010-2345-6789abcdef09");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_text) };

	return cmocka_run_group_tests_name("filesystem-id", tests, NULL, NULL);
}
