// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/shell-quote.h"
#include "test.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		const char *quoted;
	} cases[] = {
		{ "", "''" },
		{ "/srv/home", "'/srv/home'" },
		{ "a b;$(c)`d`\"*~", "'a b;$(c)`d`\"*~'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'''" },
		{ "new\nline", "$'new\\012line'" },
		{ "\x1b[0m", "$'\\033[0m'" },
		{ "\xff", "$'\\377'" },
		{ "\x7f", "$'\\177'" },
		{ "a\\b", "$'a\\\\b'" },
		/* the digit after the escape is none of it */
		{ "'\n1", "$'\\'\\0121'" },
		{ "\xc3\xbc", "$'\\303\\274'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *quoted = shell_quote(cases[i].name);

		assert_non_null(quoted);
		assert_string_equal(quoted, cases[i].quoted);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
