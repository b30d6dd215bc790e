// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/module-state.h"
#include "test.h"

#define ENABLED "enabled\tyes\n"

static struct module_kernels kernels;
/* what was parsed, of its own size, so that a sanitizer sees a byte too much */
static char *copy;

static int parse_bytes(const char *text, size_t size)
{
	free(copy);
	copy = malloc(size ? size : 1);
	assert_non_null(copy);
	memcpy(copy, text, size);
	return module_kernels_parse(copy, size, &kernels);
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static int free_copy(void **state)
{
	(void)state;
	free(copy);
	copy = NULL;
	return 0;
}

TEST_WITH(test_parse, NULL, free_copy)
{
	(void)state;
	assert_int_equal(parse("enabled\tno\n"
			       "kernel\t6.1.0-48-amd64\tactive\t6.1.192-2+fastpath0.2\t\n"
			       "kernel\t6.1.0-47-amd64\tstock\t-\tno headers of it are installed\n"
			       "kernel\ta\tready\t1\t\n"
			       "kernel\tb\xff\x1b\trefused\t2\tthe key is not enrolled\n"),
			 0);
	assert_false(kernels.is_enabled);
	assert_int_equal(kernels.count, 4);
	assert_null(kernels.text);
	assert_string_equal(kernels.list[0].release, "6.1.0-48-amd64");
	assert_int_equal(kernels.list[0].state, MODULE_ACTIVE);
	assert_string_equal(kernels.list[0].version, "6.1.192-2+fastpath0.2");
	assert_null(kernels.list[0].reason);
	assert_string_equal(kernels.list[1].release, "6.1.0-47-amd64");
	assert_int_equal(kernels.list[1].state, MODULE_STOCK);
	assert_null(kernels.list[1].version);
	assert_string_equal(kernels.list[1].reason, "no headers of it are installed");
	assert_int_equal(kernels.list[2].state, MODULE_READY);
	assert_string_equal(kernels.list[3].release, "b\xff\x1b");
	assert_int_equal(kernels.list[3].state, MODULE_REFUSED);
	assert_string_equal(kernels.list[3].reason, "the key is not enrolled");
}

static void expect_enabled(const char *text, bool is_enabled, bool is_enabled_for_all)
{
	assert_int_equal(parse(text), 0);
	assert_int_equal(kernels.is_enabled, is_enabled);
	assert_int_equal(kernels.is_enabled_for_all, is_enabled_for_all);
}

TEST_WITH(test_parse_enabled, NULL, free_copy)
{
	expect_enabled("enabled\tyes\n", true, true);
	expect_enabled("enabled\tsome\n", true, false);
	expect_enabled("enabled\tno\n", false, false);
}

TEST_WITH(test_parse_in_any_order, NULL, free_copy)
{
	assert_int_equal(parse("kernel\ta\tstock\t-\t\n" ENABLED "kernel\tb\tstock\t-\t\n"), 0);
	assert_true(kernels.is_enabled);
	assert_int_equal(kernels.count, 2);
	assert_int_equal(parse(ENABLED), 0);
	assert_int_equal(kernels.count, 0);
}

TEST_WITH(test_parse_errors, NULL, free_copy)
{
	static const char *const texts[] = {
		"",
		"\n",
		"enabled\n",
		"enabled\t\n",
		"enabled\tmaybe\n",
		"enabled\tyes\t\n",
		"enabled\tyes",
		"enabled yes\n",
		"enabled\tyes\r\n",
		"Enabled\tyes\n",
		"kernel\ta\tstock\t-\t\n",
		ENABLED ENABLED,
		ENABLED "\n",
		ENABLED "other\tline\n",
		ENABLED "kernel\n",
		ENABLED "kernel\ta\n",
		ENABLED "kernel\ta\tstock\n",
		ENABLED "kernel\ta\tstock\t-\n",
		ENABLED "kernel\ta\tstock\t-\treason\t\n",
		ENABLED "kernel\ta\tstock\t-\t",
		ENABLED "kernel\ta\tstock\t-\treason\nkern",
		ENABLED "kernel\t\tstock\t-\t\n",
		ENABLED "kernel\ta\tstock\t\treason\n",
		ENABLED "kernel\ta\tbuilt\t-\t\n",
		ENABLED "kernel\ta\tstock \t-\t\n",
		ENABLED "kernel\ta\tstoc\t-\t\n",
		ENABLED "kernel\ta\t\t-\t\n",
		ENABLED "kernel\ta\tstock\t-\t\nkernel\ta\tready\t1\t\n",
	};
	struct module_kernels before;

	memset(&before, 77, sizeof(before));
	kernels = before;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(parse(texts[i]), -EPROTO);
	assert_int_equal(parse_bytes("enabled\tyes\0\n", 13), -EPROTO);
	assert_int_equal(parse_bytes("enabled\tyes\n\0", 13), -EPROTO);
	/* What follows the size is not looked at. */
	assert_int_equal(parse_bytes("enabled\tyes\n", 11), -EPROTO);
	assert_memory_equal(&kernels, &before, sizeof(before));
}

TEST_WITH(test_parse_length_of_lines, NULL, free_copy)
{
	static const char start[] = ENABLED "kernel\ta\tstock\t-\t";
	size_t used = strlen(start) - strlen(ENABLED);
	char text[MODULE_LINE_MAX + 64];

	for (size_t length = MODULE_LINE_MAX - 1; length <= MODULE_LINE_MAX + 1; length++) {
		snprintf(text, sizeof(text), "%s%0*d\n", start, (int)(length - used), 0);
		assert_int_equal(parse(text), length <= MODULE_LINE_MAX ? 0 : -EPROTO);
	}
}

TEST_WITH(test_parse_number_of_kernels, NULL, free_copy)
{
	char text[(MODULE_KERNELS_MAX + 2) * 32];
	size_t size = sprintf(text, ENABLED);

	for (int i = 0; i < MODULE_KERNELS_MAX; i++)
		size += sprintf(text + size, "kernel\t%d\tstock\t-\t\n", i);
	assert_int_equal(parse(text), 0);
	assert_int_equal(kernels.count, MODULE_KERNELS_MAX);
	assert_string_equal(kernels.list[MODULE_KERNELS_MAX - 1].release, "255");
	strcpy(text + size, "kernel\tone more\tstock\t-\t\n");
	assert_int_equal(parse(text), -EPROTO);
}

TEST(test_names)
{
	assert_string_equal(module_state_name(MODULE_STOCK), "stock");
	assert_string_equal(module_state_name(MODULE_READY), "ready");
	assert_string_equal(module_state_name(MODULE_REFUSED), "refused");
	assert_string_equal(module_state_name(MODULE_ACTIVE), "active");
}

TEST_WITH(test_find, NULL, free_copy)
{
	assert_int_equal(parse(ENABLED "kernel\tab\tstock\t-\t\nkernel\ta\tready\t1\t\n"), 0);
	assert_ptr_equal(module_kernels_find(&kernels, "a"), &kernels.list[1]);
	assert_ptr_equal(module_kernels_find(&kernels, "ab"), &kernels.list[0]);
	assert_null(module_kernels_find(&kernels, "b"));
	assert_null(module_kernels_find(&kernels, ""));
}

static char root[32];
static char manager[64];

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test-module-state-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(manager, sizeof(manager), "%s/module", root);
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	unlink(manager);
	return rmdir(root);
}

/* Have the manager be a shell script with this TEXT, and read what it says. */
static int read_script(const char *text)
{
	FILE *stream = fopen(manager, "we");

	assert_non_null(stream);
	fprintf(stream, "#!/bin/sh\n%s\n", text);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(chmod(manager, 0700), 0);
	return module_kernels_read(manager, &kernels);
}

TEST_WITH(test_read, make_root, remove_root)
{
	assert_int_equal(read_script("[ \"$*\" = status ] && printf 'enabled\\tyes\\n'"
				     "'kernel\\tx\\tready\\t1\\t\\n'"),
			 0);
	assert_true(kernels.is_enabled);
	assert_int_equal(kernels.count, 1);
	assert_string_equal(kernels.list[0].release, "x");
	assert_non_null(kernels.text);
	module_kernels_free(&kernels);
	assert_null(kernels.text);
	module_kernels_free(&kernels);
}

TEST_WITH(test_read_errors, make_root, remove_root)
{
	assert_int_equal(module_kernels_read(manager, &kernels), -ENOENT);
	assert_int_equal(read_script("echo garbage"), -EPROTO);
	assert_int_equal(read_script("printf 'enabled\\tyes\\n'; exit 1"), -EIO);
	assert_int_equal(read_script("printf 'enabled\\tyes\\n'; kill -KILL $$"), -EIO);
	/* It is not read to its end. */
	assert_int_equal(read_script("printf 'enabled\\tyes\\n'; exec yes '\t'"), -EPROTO);
	assert_int_equal(chmod(manager, 0600), 0);
	assert_int_equal(module_kernels_read(manager, &kernels), -EACCES);
	assert_int_equal(chmod(manager, 0702), 0);
	assert_int_equal(module_kernels_read(manager, &kernels), -EPERM);
}
