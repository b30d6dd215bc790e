// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "num/saturating.h"
#include "test.h"

#define MOST UINT64_MAX

TEST(test_exact)
{
	static const struct {
		uint64_t a, b, divisor, quotient;
	} cases[] = {
		{ 0, 0, 1, 0 },
		{ 0, MOST, 7, 0 },
		{ 7, 3, 2, 10 },
		{ 1, 1, MOST, 0 },
		{ MOST, 1, 1, MOST },
		{ MOST, MOST, MOST, MOST },
		{ MOST, 100, MOST, 100 },
		{ MOST - 1, 100, MOST, 99 },
		{ MOST, 30, 31, 17851687813267308014u },
		{ 1ULL << 63, 1ULL << 63, 1ULL << 63, 1ULL << 63 },
		{ 1ULL << 32, 1ULL << 32, 3, 6148914691236517205 },
		{ 0xffffffff00000001, 0xffffffff, 0xffffffff, 0xffffffff00000001 },
		{ MOST, MOST - 1, MOST, MOST - 1 },
		/* a remainder of more than 63 bits on the way */
		{ MOST - 2, MOST - 2, MOST - 1, MOST - 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(mul_div(cases[i].a, cases[i].b, cases[i].divisor),
				 cases[i].quotient);
		assert_int_equal(mul_div(cases[i].b, cases[i].a, cases[i].divisor),
				 cases[i].quotient);
	}
}

TEST(test_too_large)
{
	assert_int_equal(mul_div(1, 1, 0), MOST);
	assert_int_equal(mul_div(0, 0, 0), MOST);
	assert_int_equal(mul_div(MOST, 2, 1), MOST);
	assert_int_equal(mul_div(1ULL << 32, 1ULL << 32, 1), MOST);
	assert_int_equal(mul_div(1ULL << 33, 1ULL << 33, 4), MOST);
	assert_int_equal(mul_div(1ULL << 33, 1ULL << 33, 8), 1ULL << 63);
}

TEST(test_rounded_up)
{
	assert_int_equal(mul_div_up(10, 0, 7), 0);
	assert_int_equal(mul_div_up(10, 7, 7), 10);
	assert_int_equal(mul_div_up(10, 1, 7), 2);
	assert_int_equal(mul_div_up(14, 1, 7), 2);
	assert_int_equal(mul_div_up(15, 1, 7), 3);
	assert_int_equal(mul_div_up(MOST, 99, 100), 18262276632972456099u);
	assert_int_equal(mul_div_up(30, 1, MOST), 1);
}

/* A number with as many bits as chance has it. */
static uint64_t any(void)
{
	uint64_t number = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 16 ^ rand();

	return number >> rand() % 64;
}

/* A product divided by either factor is the other one. */
TEST(test_any)
{
	srand(1);
	for (int i = 0; i < 100000; i++) {
		uint64_t a = any(), b = any() | 1;

		assert_int_equal(mul_div(a, b, b), a);
		assert_int_equal(mul_div_up(a, b, b), a);
	}
}

#ifdef __SIZEOF_INT128__
TEST(test_against_128_bits)
{
	srand(2);
	for (int i = 0; i < 100000; i++) {
		uint64_t a = any(), b = any(), divisor = any() | 1;
		unsigned __int128 quotient = (unsigned __int128)a * b / divisor;

		assert_int_equal(mul_div(a, b, divisor),
				 quotient > UINT64_MAX ? UINT64_MAX : (uint64_t)quotient);
	}
}
#endif
