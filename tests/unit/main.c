// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "test.h"

/* The linker knows where the section is. */
extern const struct CMUnitTest __start_unit_tests[], __stop_unit_tests[];

int main(void)
{
	return _cmocka_run_group_tests(program_invocation_short_name, __start_unit_tests,
				       __stop_unit_tests - __start_unit_tests, NULL, NULL);
}
