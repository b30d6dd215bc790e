// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/quartiles.h"
#include "test.h"

TEST(test_odd_count)
{
	uint64_t one[] = { 7 };
	uint64_t several[] = { UINT64_MAX, 1, 5, 0, 5 };

	assert_int_equal(median(one, ARRAY_SIZE(one)), 7);
	assert_int_equal(median(several, ARRAY_SIZE(several)), 5);
}

/* Of two in the middle the larger: it is one of the values. */
TEST(test_even_count)
{
	uint64_t two[] = { 4, 3 };
	uint64_t several[] = { 40, 10, 30, 20 };

	assert_int_equal(median(two, ARRAY_SIZE(two)), 4);
	assert_int_equal(median(several, ARRAY_SIZE(several)), 30);
}
