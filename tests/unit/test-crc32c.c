// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "num/digest.h"
#include "test.h"

/* RFC 3720, B.4, inverts before and after. */
TEST(test_known_sums)
{
	uint8_t bytes[32];

	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(~crc32c(~0U, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(~crc32c(~0U, bytes, sizeof(bytes)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	assert_int_equal(~crc32c(~0U, bytes, sizeof(bytes)), 0x46dd794e);
	assert_int_equal(~crc32c_portable(~0U, bytes, sizeof(bytes)), 0x46dd794e);
	assert_int_equal(~crc32c(~0U, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(77, "", 0), 77);
}

/* One bit after the other. */
static uint32_t slow_crc(uint32_t crc, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

TEST(test_every_length_and_alignment)
{
	uint8_t bytes[80];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 37 * i + 11;
	for (size_t start = 0; start < 9; start++) {
		for (size_t size = 0; start + size <= sizeof(bytes); size++) {
			uint32_t expected = slow_crc(size, bytes + start, size);

			assert_int_equal(crc32c(size, bytes + start, size), expected);
			assert_int_equal(crc32c_portable(size, bytes + start, size), expected);
		}
	}
}
