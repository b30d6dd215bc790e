// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "path/trusted-file.h"
#include "test.h"

static uid_t caller;

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return caller;
}

TEST(test_who_can_write)
{
	static const struct {
		uid_t caller, owner;
		mode_t mode;
		bool is_trusted;
	} cases[] = {
		{ 0, 0, 0755, true },
		{ 0, 0, 0, true },
		{ 1000, 0, 0755, true },
		{ 1000, 1000, 0700, true },
		/* another's, root's own caution included */
		{ 0, 1000, 0755, false },
		{ 1000, 1001, 0555, false },
		/* the group, and a list with more users; everybody */
		{ 0, 0, 0775, false },
		{ 0, 0, 0720, false },
		{ 1000, 1000, 0770, false },
		{ 0, 0, 0702, false },
		{ 0, 0, 01777, false },
		{ 1000, 0, 01777, false },
		/* two that a user namespace has no numbers for */
		{ 65534, 65534, 0700, false },
		{ 65534, 0, 0755, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct stat status = {
			.st_uid = cases[i].owner,
			.st_mode = S_IFDIR | cases[i].mode,
		};

		caller = cases[i].caller;
		assert_int_equal(directory_is_trusted(&status), cases[i].is_trusted);
	}
}
