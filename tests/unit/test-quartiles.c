// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "num/quartiles.h"
#include "test.h"

TEST(test_counts)
{
	static const struct {
		size_t count;
		uint64_t values[9];
		struct quartiles expected;
	} cases[] = {
		{ 1, { 7 }, { 7, 7, 7 } },
		{ 2, { 9, 1 }, { 1, 9, 9 } },
		{ 3, { 3, 1, 2 }, { 1, 2, 3 } },
		{ 4, { 4, 3, 1, 2 }, { 2, 3, 3 } },
		{ 5, { 50, 1, 3, 4, 2 }, { 2, 3, 4 } },
		{ 9, { 9, 8, 7, 6, 5, 4, 3, 2, 1 }, { 3, 5, 7 } },
		{ 3, { UINT64_MAX, 0, UINT64_MAX }, { 0, UINT64_MAX, UINT64_MAX } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct quartiles quartiles;
		uint64_t values[9];

		memcpy(values, cases[i].values, sizeof(values));
		quartiles = quartiles_of(values, cases[i].count);
		assert_int_equal(quartiles.low, cases[i].expected.low);
		assert_int_equal(quartiles.median, cases[i].expected.median);
		assert_int_equal(quartiles.high, cases[i].expected.high);
	}
}
