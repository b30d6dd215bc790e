// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/byte-range.h"
#include "test.h"

TEST(test_range_end)
{
	assert_int_equal(byte_range_end((struct byte_range){ 3, 4 }), 7);
	assert_int_equal(byte_range_end(WHOLE_FILE), UINT64_MAX);
	assert_int_equal(byte_range_end((struct byte_range){ 5, UINT64_MAX }), UINT64_MAX);
}

static void assert_cut(struct byte_range range, uint64_t size, uint64_t length)
{
	struct byte_range cut = byte_range_cut(range, size);

	assert_int_equal(cut.offset, range.offset);
	assert_int_equal(cut.length, length);
}

TEST(test_range_ends_with_the_file)
{
	assert_cut(WHOLE_FILE, 100, 100);
	assert_cut(WHOLE_FILE, 0, 0);
	assert_cut((struct byte_range){ 10, 20 }, 100, 20);
	assert_cut((struct byte_range){ 10, 90 }, 100, 90);
	assert_cut((struct byte_range){ 10, 91 }, 100, 90);
	assert_cut((struct byte_range){ 100, 1 }, 100, 0);
	assert_cut((struct byte_range){ UINT64_MAX, UINT64_MAX }, 100, 0);
	assert_cut((struct byte_range){ 1, UINT64_MAX }, 100, 99);
}
