// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/cleanup.h"
#include "test.h"
#include "text/name-escape.h"

TEST(test_names)
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
		{ "a\\b", "$'a\\134b'" },
		/* the digit after the escape is none of it */
		{ "'\n1", "$'\\047\\0121'" },
		{ "\xc3\xbc", "$'\\303\\274'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *quoted = shell_quote(cases[i].name);

		assert_non_null(quoted);
		assert_string_equal(quoted, cases[i].quoted);
	}
}

/* Returns the exit status. */
static int run_shell(const char *shell, const char *script)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		execlp(shell, shell, "-c", script, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Whether SHELL takes the quoted NAME for one word, and that word for NAME. */
static void check_shell(const char *shell, const char *name, bool knows_escapes)
{
	CLEANUP_FREE char *quoted = shell_quote(name);
	CLEANUP_FREE char *script = NULL;
	int status;

	assert_non_null(quoted);
	/* what would be run of the name ends the shell, with 9 */
	assert_true(asprintf(&script, "set -- %s; [ $# = 1 ] || exit 8; [ \"$1\" = \"$NAME\" ]",
			     quoted) > 0);
	assert_int_equal(setenv("NAME", name, 1), 0);
	status = run_shell(shell, script);
	assert_int_equal(status, knows_escapes ? 0 : 1);
}

/* A shell without $'' gets another name, but must not run what is in it. */
TEST(test_shells)
{
	static const char *const names[] = {
		"'; exit 9; '\n",
		"\n'; exit 9 #",
		"\\'; exit 9 #",
		"\\\\'\xff'; exit 9; '",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		check_shell("bash", names[i], true);
		check_shell("dash", names[i], false);
	}
}
