// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "probe/feature-measure.h"
#include "probe/probe-image.h"
#include "test.h"

static const struct feature_probe probe = { .present_below = 200, .absent_above = 400 };

/* What the two comparisons give, and how often the second one was made. */
static struct {
	struct feature_cost feature, improvement;
	int error;
	int improvements;
} kernel;

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return 0;
}

int __wrap_probe_image_new(int directory_fd, struct probe_failure *failure,
			   struct probe_image *ret_image);
int __wrap_probe_image_new(int directory_fd, struct probe_failure *failure,
			   struct probe_image *ret_image)
{
	(void)directory_fd;
	*ret_image = (struct probe_image){ .failure = failure, .root_fd = 1000 };
	return 0;
}

int __wrap_probe_image_mount(struct probe_image *image);
int __wrap_probe_image_mount(struct probe_image *image)
{
	(void)image;
	return 0;
}

void __wrap_probe_image_free(struct probe_image *image);
void __wrap_probe_image_free(struct probe_image *image)
{
	(void)image;
}

int __wrap_probe_interrupted(struct interrupts *interrupts);
int __wrap_probe_interrupted(struct interrupts *interrupts)
{
	(void)interrupts;
	return 0;
}

static int run(int directory_fd, struct interrupts *interrupts, struct feature_cost *ret_cost)
{
	(void)interrupts;
	assert_int_equal(directory_fd, 1000);
	*ret_cost = kernel.feature;
	return 0;
}

static int run_improved(int directory_fd, struct interrupts *interrupts,
			struct feature_cost *ret_cost)
{
	(void)interrupts;
	assert_int_equal(directory_fd, 1000);
	kernel.improvements++;
	if (kernel.error < 0)
		return kernel.error;
	*ret_cost = kernel.improvement;
	return 0;
}

static const struct feature_probe twofold = {
	.run = run,
	.present_below = 200,
	.absent_above = 400,
	.run_improved = run_improved,
	.improved_below = 200,
};

TEST(test_percent)
{
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 150, 100 }), 150);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 0, 100 }), 0);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 1, 3 }), 33);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ 5, 0 }), 0);
	assert_int_equal(feature_cost_percent(&(struct feature_cost){ UINT64_MAX, UINT64_MAX }),
			 100);
}

TEST(test_judge)
{
	static const struct {
		uint64_t cost;
		enum feature_state expected;
	} cases[] = {
		{ 0, FEATURE_PRESENT },	  { 199, FEATURE_PRESENT }, { 200, FEATURE_UNKNOWN },
		{ 400, FEATURE_UNKNOWN }, { 401, FEATURE_ABSENT },  { UINT32_MAX, FEATURE_ABSENT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct feature_cost cost = { cases[i].cost, 100 };

		assert_int_equal(feature_cost_judge(&probe, &cost), cases[i].expected);
	}
	assert_int_equal(feature_cost_judge(&probe, &(struct feature_cost){ 0, 0 }),
			 FEATURE_UNKNOWN);
	assert_int_equal(feature_cost_judge(&probe, &(struct feature_cost){ 9, 0 }),
			 FEATURE_UNKNOWN);
}

static void expect_measured(uint64_t cost, uint64_t improvement, enum feature_state expected,
			    int improvements)
{
	struct probe_failure failure;
	struct feature_costs costs;

	kernel.feature = (struct feature_cost){ cost, 100 };
	kernel.improvement = (struct feature_cost){ improvement, 100 };
	kernel.improvements = 0;
	assert_int_equal(feature_measure(&twofold, -1, NULL, &costs, &failure), 0);
	assert_int_equal(costs.feature.cost, cost);
	assert_int_equal(costs.improvement.cost, improvements ? improvement : 0);
	assert_int_equal(costs.improvement.reference, improvements ? 100 : 0);
	assert_int_equal(feature_costs_judge(&twofold, &costs), expected);
	assert_int_equal(kernel.improvements, improvements);
}

/* Where the feature is not seen, nothing can be improved. */
TEST(test_improved)
{
	expect_measured(100, 199, FEATURE_IMPROVED, 1);
	expect_measured(199, 0, FEATURE_IMPROVED, 1);
	expect_measured(100, 200, FEATURE_PRESENT, 1);
	expect_measured(100, UINT32_MAX, FEATURE_PRESENT, 1);
	expect_measured(200, 100, FEATURE_UNKNOWN, 0);
	expect_measured(401, 100, FEATURE_ABSENT, 0);
}

TEST(test_improvement_is_not_known)
{
	const struct feature_costs none = { { 100, 100 }, { 0, 0 } };
	const struct feature_costs of_what_is_absent = { { 401, 100 }, { 100, 100 } };

	assert_int_equal(feature_costs_judge(&twofold, &none), FEATURE_PRESENT);
	assert_int_equal(feature_costs_judge(&twofold, &of_what_is_absent), FEATURE_ABSENT);
}

TEST(test_improvement_fails)
{
	struct feature_costs costs = { { 1, 2 }, { 3, 4 } };
	struct probe_failure failure;

	kernel.feature = (struct feature_cost){ 100, 100 };
	kernel.error = -ENOSPC;
	assert_int_equal(feature_measure(&twofold, -1, NULL, &costs, &failure), -ENOSPC);
	assert_int_equal(costs.feature.cost, 1);
	assert_int_equal(costs.improvement.reference, 4);
	kernel.error = 0;
}

/* Between the two verdicts there is room for what is unclear. */
TEST(test_probes)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		assert_non_null(feature_probes[i].what);
		assert_true(!feature_probes[i].run == feature_probe_needs_root(&feature_probes[i]));
		assert_non_null(feature_probes[i].unit);
		assert_true(feature_probes[i].present_below < feature_probes[i].absent_above);
		assert_true(!feature_probes[i].run_improved == !feature_probes[i].what_improved);
		assert_true(!feature_probes[i].run_improved == !feature_probes[i].improved_below);
		/* an image is for one comparison */
		assert_true(!feature_probes[i].run_improved || feature_probes[i].run);
	}
}
