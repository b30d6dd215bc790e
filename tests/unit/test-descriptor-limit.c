// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "sys/descriptor-limit.h"
#include "test.h"

static void set_limit(rlim_t soft)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = soft;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static rlim_t soft_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return limit.rlim_cur;
}

static rlim_t hard_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return limit.rlim_max;
}

TEST(test_raised_and_restored)
{
	struct descriptor_limit limit;
	rlim_t hard = hard_limit();

	assert_true(hard > 20);
	set_limit(20);
	limit = descriptor_limit_raise();
	assert_true(soft_limit() == hard);
	descriptor_limit_restore(&limit);
	assert_int_equal(soft_limit(), 20);
	assert_true(hard_limit() == hard);
}

TEST(test_unchanged)
{
	struct descriptor_limit limit = { .former = { 10, 10 } };

	set_limit(20);
	descriptor_limit_restore(&limit);
	assert_int_equal(soft_limit(), 20);
}
