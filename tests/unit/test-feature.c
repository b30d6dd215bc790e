// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "probe/feature.h"
#include "sys/cleanup.h"
#include "test.h"

/* A copy of its own size lets a sanitizer see a read beyond it. */
static char *copy_of(const char *text, size_t size)
{
	char *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, text, size);
	return copy;
}

/* EXPECTED: a letter for each feature, which is that of its state: "-", "p" or "i" */
static void expect_list(const char *text, size_t size, const char *expected)
{
	static const char letters[] = {
		[FEATURE_ABSENT] = '-',
		[FEATURE_PRESENT] = 'p',
		[FEATURE_IMPROVED] = 'i',
	};
	CLEANUP_FREE char *copy = copy_of(text, size);
	enum feature_state states[FEATURE_COUNT];
	char found[FEATURE_COUNT + 1] = "";

	feature_list_parse(copy, size, states);
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		found[i] = letters[states[i]];
	assert_string_equal(found, expected);
}

static const struct feature_symbol *parse_symbol(const char *line)
{
	CLEANUP_FREE char *copy = copy_of(line, strlen(line));

	return feature_symbol_parse(copy, strlen(line));
}

TEST(test_table)
{
	assert_int_equal(FEATURE_COUNT, 5);
	assert_string_equal(features[FEATURE_FIEMAP_LEAF].name, "fiemap-leaf");
	assert_int_equal(features[FEATURE_SEND_READA].since.version, 5);
	assert_int_equal(features[FEATURE_SEND_READA].since.patchlevel, 15);
	for (size_t i = 0; i < FEATURE_COUNT; i++) {
		char expected[] = "-----";

		expected[i] = 'p';
		expect_list(features[i].name, strlen(features[i].name), expected);
	}
}

TEST(test_states)
{
	assert_string_equal(feature_state_name(FEATURE_UNKNOWN), "unknown");
	assert_string_equal(feature_state_name(FEATURE_ABSENT), "absent");
	assert_string_equal(feature_state_name(FEATURE_PRESENT), "present");
	assert_string_equal(feature_state_name(FEATURE_IMPROVED), "improved");
	assert_false(feature_state_is_present(FEATURE_UNKNOWN));
	assert_false(feature_state_is_present(FEATURE_ABSENT));
	assert_true(feature_state_is_present(FEATURE_PRESENT));
	assert_true(feature_state_is_present(FEATURE_IMPROVED));
}

TEST(test_list)
{
	static const struct {
		const char *text;
		const char *expected;
	} cases[] = {
		{ "fiemap-leaf seek-cache log-dir send-reada nocow-csum\n", "ppppp" },
		{ "nocow-csum fiemap-leaf", "p---p" },
		{ "log-dir\nlog-dir\n\n", "--p--" },
		{ "\t send-reada \r\n", "---p-" },
		{ "log-dir-2 log_dir log LOG-DIR xlog-dir", "-----" },
		{ "something-new seek-cache", "-p---" },
		{ "log-dir,seek-cache", "-----" },
		{ "\n", "-----" },
		{ "", "-----" },
		{ "fiemap-leaf seek-cache log-dir send-reada nocow-csum fiemap-leaf:improved "
		  "seek-cache:improved log-dir:improved\n",
		  "iiipp" },
		/* in whatever order, and alone */
		{ "log-dir:improved log-dir", "--i--" },
		{ "seek-cache:improved", "-i---" },
		/* what is not known of a feature is ignored, but not the feature */
		{ "log-dir log-dir:faster log-dir: log-dir:improve log-dir:improved2", "--p--" },
		{ "log-dir:improved:more log-dir-improved :improved improved log-dir :improved",
		  "--p--" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_list(cases[i].text, strlen(cases[i].text), cases[i].expected);
}

TEST(test_list_stops_at_the_size)
{
	expect_list("log-dir seek-cache", 17, "--p--");
	expect_list("log-dir log-dir:improved", 23, "--p--");
	expect_list("log-dir\0seek-cache", 18, "-----");
	expect_list("\0 seek-cache", 12, "-p---");
}

TEST(test_symbol)
{
	static const struct {
		const char *line;
		/* of a feature that is present, or FEATURE_COUNT */
		enum feature_id expected;
	} cases[] = {
		{ "ffffffff81234c40 T btrfs_csum_exists_in_range\n", FEATURE_NOCOW_CSUM },
		{ "0000000000000000 T btrfs_csum_exists_in_range\t[btrfs]\n", FEATURE_NOCOW_CSUM },
		{ "0000000000000000 t fiemap_find_delalloc", FEATURE_SEEK_CACHE },
		{ "0000000000000000 t fiemap_find_delalloc.isra.0\t[btrfs]", FEATURE_SEEK_CACHE },
		{ "0000000000000000 t fiemap_find_delalloc.constprop.0.cold\n",
		  FEATURE_SEEK_CACHE },
		{ "0000000000000000 t csum_exist_in_range\n", FEATURE_COUNT },
		{ "0000000000000000 T btrfs_csum_exists_in_range_2\n", FEATURE_COUNT },
		{ "0000000000000000 T btrfs_csum_exists\n", FEATURE_COUNT },
		{ "0000000000000000 T x\t[btrfs_csum_exists_in_range]\n", FEATURE_COUNT },
		{ "0000000000000000 btrfs_csum_exists_in_range\n", FEATURE_COUNT },
		{ "btrfs_csum_exists_in_range\n", FEATURE_COUNT },
		{ "T btrfs_csum_exists_in_range\n", FEATURE_COUNT },
		{ "0000000000000000 T \n", FEATURE_COUNT },
		{ "0000000000000000 T .cold\n", FEATURE_COUNT },
		{ "\n", FEATURE_COUNT },
		{ "", FEATURE_COUNT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct feature_symbol *symbol = parse_symbol(cases[i].line);

		if (cases[i].expected == FEATURE_COUNT) {
			assert_null(symbol);
			continue;
		}
		assert_non_null(symbol);
		assert_int_equal(symbol->feature, cases[i].expected);
		assert_int_equal(symbol->state, FEATURE_PRESENT);
		assert_non_null(strstr(cases[i].line, symbol->name));
	}
}

TEST(test_symbol_of_an_improvement)
{
	const struct feature_symbol *symbol =
		parse_symbol("0000000000000000 T btrfs_cut_range_after_states\t[btrfs]\n");

	(void)state;
	assert_non_null(symbol);
	assert_int_equal(symbol->feature, FEATURE_SEEK_CACHE);
	assert_int_equal(symbol->state, FEATURE_IMPROVED);
	assert_string_equal(symbol->name, "btrfs_cut_range_after_states");
	assert_null(parse_symbol("0000000000000000 T btrfs_cut_range\n"));
}
