// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "probe/feature-measure.h"
#include "test.h"

static const struct feature_probe probe = { .present_below = 200, .absent_above = 400 };

static void test_percent(void **state)
{
	(void)state;
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 150, 100 }), 150);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 0, 100 }), 0);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 1, 3 }), 33);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 5, 0 }), 0);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ UINT64_MAX, UINT64_MAX }),
			 100);
}

static void test_judge(void **state)
{
	static const struct {
		uint64_t cost;
		enum feature_state expected;
	} cases[] = {
		{ 0, FEATURE_PRESENT },	  { 199, FEATURE_PRESENT }, { 200, FEATURE_UNKNOWN },
		{ 400, FEATURE_UNKNOWN }, { 401, FEATURE_ABSENT },  { UINT32_MAX, FEATURE_ABSENT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct feature_cost cost = { cases[i].cost, 100 };

		assert_int_equal(feature_cost_judge(&probe, &cost), cases[i].expected);
	}
	assert_int_equal(feature_cost_judge(&probe, &(struct feature_cost){ 0, 0 }),
			 FEATURE_UNKNOWN);
	assert_int_equal(feature_cost_judge(&probe, &(struct feature_cost){ 9, 0 }),
			 FEATURE_UNKNOWN);
}

/* Between the two verdicts there is room for what is unclear. */
static void test_probes(void **state)
{
	(void)state;
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		assert_non_null(feature_probes[i].what);
		assert_true(!feature_probes[i].run == feature_probe_needs_root(&feature_probes[i]));
		assert_non_null(feature_probes[i].unit);
		assert_true(feature_probes[i].present_below < feature_probes[i].absent_above);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_probes),
	};

	return cmocka_run_group_tests_name("feature-measure", tests, NULL, NULL);
}
