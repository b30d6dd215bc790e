// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "sys/kernel-release.h"
#include "test.h"

TEST(test_parse)
{
	static const struct {
		const char *text;
		struct kernel_release expected;
	} cases[] = {
		{ "6.1.0-37-amd64", { 6, 1 } },
		{ "5.10.0-30-amd64", { 5, 10 } },
		{ "6.18.0", { 6, 18 } },
		{ "6.12-rc1", { 6, 12 } },
		{ "6.12.9+deb12-amd64", { 6, 12 } },
		{ "6.18.44-cloud-v2", { 6, 18 } },
		{ "7.3.4+deb13-amd64", { 7, 3 } },
		{ "6.8.0-1021-aws", { 6, 8 } },
		{ "5.14.0-503.11.1.el9_5.x86_64", { 5, 14 } },
		{ "6.1", { 6, 1 } },
		{ "6.1+", { 6, 1 } },
		{ "10.100~x", { 10, 100 } },
		{ "006.001", { 6, 1 } },
		{ "4294967295.4294967295", { 4294967295U, 4294967295U } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_release release;

		assert_int_equal(kernel_release_parse(cases[i].text, &release), 0);
		assert_int_equal(release.version, cases[i].expected.version);
		assert_int_equal(release.patchlevel, cases[i].expected.patchlevel);
	}
}

TEST(test_parse_errors)
{
	static const char *const texts[] = {
		"",	     "6",     "6.",	 ".1",		 "6-1",
		"v6.1",	     " 6.1",  "+6.1",	 "-6.1",	 "6.-1",
		"6. 1",	     "6..1",  "6.x",	 "6.1a",	 "6.1rc1",
		"linux-6.1", "0x6.1", "six.one", "4294967296.1", "6.99999999999999999999",
	};
	struct kernel_release release = { 77, 88 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(kernel_release_parse(texts[i], &release), -EINVAL);
	assert_int_equal(release.version, 77);
	assert_int_equal(release.patchlevel, 88);
}

TEST(test_compare)
{
	static const struct kernel_release ascending[] = {
		{ 5, 10 }, { 5, 15 }, { 6, 1 }, { 6, 2 }, { 6, 10 }, { 6, 100 }, { 7, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ascending); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(ascending); j++) {
			int order = kernel_release_compare(ascending[i], ascending[j]);

			assert_true(i < j ? order < 0 : i > j ? order > 0 : order == 0);
		}
	}
}
