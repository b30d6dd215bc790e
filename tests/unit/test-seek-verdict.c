// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "seek/seek-verdict.h"
#include "test.h"

/* As they were measured, or invented; see the names. */
static const struct {
	const char *name;
	size_t count;
	struct seek_sample samples[SEEK_VERDICT_SAMPLES];
	enum seek_state state;
	struct quartiles growth;
} cases[] = {
	{ "nothing", 0, { { 0, 0, 0 } }, SEEK_INCONCLUSIVE, { 0, 0, 0 } },
	{ "steady",
	  9,
	  { { 1300, 1000, 1000 },
	    { 1310, 1010, 1000 },
	    { 1290, 1100, 1000 },
	    { 1305, 990, 1000 },
	    { 1300, 900, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 } },
	  SEEK_FINE,
	  { 100, 100, 100 } },
	/* data at the start, a hole at the end */
	{ "steady, and dearer at the end",
	  5,
	  { { 1821, 1242, 1632 },
	    { 1821, 1262, 1682 },
	    { 1821, 1262, 1652 },
	    { 1821, 1252, 1652 },
	    { 1821, 1652, 2343 } },
	  SEEK_FINE,
	  { 75, 75, 76 } },
	/* a quarter of the samples may be wrong */
	{ "steady, with two disturbed",
	  9,
	  { { 1300, 9000, 1000 },
	    { 9000, 1000, 9000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 1000, 1000 } },
	  SEEK_FINE,
	  { 100, 100, 100 } },
	{ "growing",
	  5,
	  { { 59701, 47351, 1642 },
	    { 59701, 47000, 1642 },
	    { 59701, 48000, 1700 },
	    { 59701, 46000, 1642 },
	    { 59701, 47351, 1650 } },
	  SEEK_SLOW,
	  { 2823, 2862, 2869 } },
	{ "growing, with two disturbed",
	  9,
	  { { 50000, 47000, 1000 },
	    { 50000, 47000, 1000 },
	    { 50000, 47000, 90000 },
	    { 50000, 47000, 1000 },
	    { 50000, 47000, 1000 },
	    { 50000, 47000, 60000 },
	    { 50000, 47000, 1000 },
	    { 50000, 47000, 1000 },
	    { 50000, 47000, 1000 } },
	  SEEK_SLOW,
	  { 4700, 4700, 4700 } },
	{ "noisy",
	  9,
	  { { 1300, 1000, 1000 },
	    { 1300, 5000, 1000 },
	    { 1300, 1000, 3000 },
	    { 1300, 7000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 6000, 1000 },
	    { 1300, 1000, 4000 },
	    { 1300, 9000, 1000 },
	    { 1300, 1000, 1000 } },
	  SEEK_INCONCLUSIVE,
	  { 100, 100, 600 } },
	{ "growing in most samples, and not in a third",
	  9,
	  { { 1300, 9000, 1000 },
	    { 1300, 9000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 9000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 9000, 1000 },
	    { 1300, 1000, 1000 },
	    { 1300, 9000, 1000 },
	    { 1300, 9000, 1000 } },
	  SEEK_INCONCLUSIVE,
	  { 100, 900, 900 } },
	{ "between the bounds",
	  5,
	  { { 3000, 3000, 1000 },
	    { 3000, 3000, 1000 },
	    { 3000, 3000, 1000 },
	    { 3000, 3000, 1000 },
	    { 3000, 3000, 1000 } },
	  SEEK_INCONCLUSIVE,
	  { 300, 300, 300 } },
	{ "at the bound of slow",
	  5,
	  { { 9, 400, 100 }, { 9, 400, 100 }, { 9, 400, 100 }, { 9, 400, 100 }, { 9, 400, 100 } },
	  SEEK_INCONCLUSIVE,
	  { 400, 400, 400 } },
	{ "above the bound of slow",
	  5,
	  { { 9, 401, 100 }, { 9, 401, 100 }, { 9, 401, 100 }, { 9, 401, 100 }, { 9, 401, 100 } },
	  SEEK_SLOW,
	  { 401, 401, 401 } },
	{ "below the bound of fine",
	  5,
	  { { 9, 199, 100 }, { 9, 199, 100 }, { 9, 199, 100 }, { 9, 199, 100 }, { 9, 199, 100 } },
	  SEEK_FINE,
	  { 199, 199, 199 } },
	{ "at the bound of fine",
	  5,
	  { { 9, 200, 100 }, { 9, 200, 100 }, { 9, 200, 100 }, { 9, 200, 100 }, { 9, 200, 100 } },
	  SEEK_INCONCLUSIVE,
	  { 200, 200, 200 } },
	{ "the end is slow, which no kernel is known for",
	  5,
	  { { 9, 24, 100 }, { 9, 24, 100 }, { 9, 24, 100 }, { 9, 24, 100 }, { 9, 24, 100 } },
	  SEEK_INCONCLUSIVE,
	  { 24, 24, 24 } },
	{ "too few",
	  4,
	  { { 9, 900, 100 }, { 9, 900, 100 }, { 9, 900, 100 }, { 9, 900, 100 } },
	  SEEK_INCONCLUSIVE,
	  { 900, 900, 900 } },
	{ "a clock that does not see the calls",
	  5,
	  { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
	  SEEK_FINE,
	  { 100, 100, 100 } },
	{ "times without end",
	  5,
	  { { UINT64_MAX, UINT64_MAX, 1 },
	    { UINT64_MAX, UINT64_MAX, 1 },
	    { UINT64_MAX, UINT64_MAX, 1 },
	    { UINT64_MAX, UINT64_MAX, 1 },
	    { UINT64_MAX, UINT64_MAX, 1 } },
	  SEEK_SLOW,
	  { UINT64_MAX, UINT64_MAX, UINT64_MAX } },
};

TEST(test_cases)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct seek_verdict verdict = seek_verdict_of(cases[i].samples, cases[i].count);

		print_message("%s\n", cases[i].name);
		assert_int_equal(verdict.sample_count, cases[i].count);
		assert_int_equal(verdict.growth_percent.low, cases[i].growth.low);
		assert_int_equal(verdict.growth_percent.median, cases[i].growth.median);
		assert_int_equal(verdict.growth_percent.high, cases[i].growth.high);
		assert_int_equal(verdict.state, cases[i].state);
	}
}

TEST(test_medians)
{
	static const struct seek_sample samples[] = {
		{ 5, 50, 500 }, { 1, 20, 300 }, { 4, 10, 100 }, { 2, 40, 200 }, { 3, 30, 400 },
	};
	struct seek_verdict verdict = seek_verdict_of(samples, ARRAY_SIZE(samples));

	assert_int_equal(verdict.median.call_ns, 3);
	assert_int_equal(verdict.median.start_ns, 30);
	assert_int_equal(verdict.median.end_ns, 300);
}

TEST(test_names)
{
	assert_string_equal(seek_state_name(SEEK_FINE), "fine");
	assert_string_equal(seek_state_name(SEEK_SLOW), "slow");
	assert_string_equal(seek_state_name(SEEK_INCONCLUSIVE), "inconclusive");
}
