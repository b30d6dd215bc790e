// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "probe/feature.h"
#include "test.h"

#define SET(id) (1U << FEATURE_##id)
#define ALL_FEATURES ((1U << FEATURE_COUNT) - 1)

/* A copy of its own size lets a sanitizer see a read beyond it. */
static char *copy_of(const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, text, size);
	return copy;
}

static feature_set parse_list(const char *text, size_t size)
{
	CLEANUP_FREE char *copy = copy_of(text, size);

	return feature_list_parse(copy, size);
}

static feature_set parse_symbol(const char *line, const char **ret_symbol)
{
	CLEANUP_FREE char *copy = copy_of(line, strlen(line));

	return feature_symbol_parse(copy, strlen(line), ret_symbol);
}

static void test_table(void **state)
{
	(void)state;
	assert_int_equal(FEATURE_COUNT, 5);
	assert_string_equal(features[FEATURE_FIEMAP_LEAF].name, "fiemap-leaf");
	assert_int_equal(features[FEATURE_SEND_READA].since.version, 5);
	assert_int_equal(features[FEATURE_SEND_READA].since.patchlevel, 15);
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		assert_int_equal(parse_list(features[i].name, strlen(features[i].name)), 1U << i);
}

static void test_list(void **state)
{
	static const struct {
		const char *text;
		feature_set expected;
	} cases[] = {
		{ "fiemap-leaf seek-cache log-dir send-reada nocow-csum\n", ALL_FEATURES },
		{ "nocow-csum fiemap-leaf", SET(NOCOW_CSUM) | SET(FIEMAP_LEAF) },
		{ "log-dir\nlog-dir\n\n", SET(LOG_DIR) },
		{ "\t send-reada \r\n", SET(SEND_READA) },
		{ "log-dir-2 log_dir log LOG-DIR xlog-dir", 0 },
		{ "something-new seek-cache", SET(SEEK_CACHE) },
		{ "log-dir,seek-cache", 0 },
		{ "\n", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(parse_list(cases[i].text, strlen(cases[i].text)),
				 cases[i].expected);
}

static void test_list_stops_at_the_size(void **state)
{
	(void)state;
	assert_int_equal(parse_list("log-dir seek-cache", 17), SET(LOG_DIR));
	assert_int_equal(parse_list("log-dir\0seek-cache", 18), 0);
	assert_int_equal(parse_list("\0 seek-cache", 12), SET(SEEK_CACHE));
}

static void test_symbol(void **state)
{
	static const struct {
		const char *line;
		feature_set expected;
	} cases[] = {
		{ "ffffffff81234c40 T btrfs_csum_exists_in_range\n", SET(NOCOW_CSUM) },
		{ "0000000000000000 T btrfs_csum_exists_in_range\t[btrfs]\n", SET(NOCOW_CSUM) },
		{ "0000000000000000 t fiemap_find_delalloc", SET(SEEK_CACHE) },
		{ "0000000000000000 t fiemap_find_delalloc.isra.0\t[btrfs]", SET(SEEK_CACHE) },
		{ "0000000000000000 t fiemap_find_delalloc.constprop.0.cold\n", SET(SEEK_CACHE) },
		{ "0000000000000000 t csum_exist_in_range\n", 0 },
		{ "0000000000000000 T btrfs_csum_exists_in_range_2\n", 0 },
		{ "0000000000000000 T btrfs_csum_exists\n", 0 },
		{ "0000000000000000 T x\t[btrfs_csum_exists_in_range]\n", 0 },
		{ "0000000000000000 btrfs_csum_exists_in_range\n", 0 },
		{ "btrfs_csum_exists_in_range\n", 0 },
		{ "T btrfs_csum_exists_in_range\n", 0 },
		{ "0000000000000000 T \n", 0 },
		{ "0000000000000000 T .cold\n", 0 },
		{ "\n", 0 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *symbol = NULL;

		assert_int_equal(parse_symbol(cases[i].line, &symbol), cases[i].expected);
		if (cases[i].expected)
			assert_non_null(strstr(cases[i].line, symbol));
		else
			assert_null(symbol);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_stops_at_the_size),
		cmocka_unit_test(test_symbol),
	};

	return cmocka_run_group_tests_name("feature", tests, NULL, NULL);
}
