// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>

#include "test.h"

/* The linker knows where the section is. */
extern const struct CMUnitTest __start_unit_tests[], __stop_unit_tests[];

int main(void)
{
	const char *reason = reason_to_skip ? reason_to_skip() : NULL;

	if (reason) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	return _cmocka_run_group_tests(program_invocation_short_name, __start_unit_tests,
				       __stop_unit_tests - __start_unit_tests, setup_all,
				       teardown_all);
}
