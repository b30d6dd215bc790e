// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ui/front-end.h"
#include "sys/cleanup.h"
#include "test.h"

static const char help[] = "usage: btrfs inspect-internal <command> <args>\n"
			   "\n"
			   "    btrfs inspect-internal dump-tree [options] <device>\n"
			   "        Dump it, as btrfs inspect-internal described\n"
			   "    btrfs inspect-internal dump <device>\n"
			   "        btrfs inspect-internal indented\n"
			   "    btrfs filesystem other\n"
			   "    btrfs inspect-internalglued\n"
			   "    btrfs inspect-internal bare\n"
			   "    btrfs inspect-internal \n"
			   "    btrfs inspect-internal last";

/* A copy of its own size lets a sanitizer see a read beyond it. */
static enum native_match match(const char *text, size_t length, const char *word)
{
	CLEANUP_FREE char *copy = malloc(length ? length : 1);

	assert_non_null(copy);
	memcpy(copy, text, length);
	return btrfs_progs_help_match(copy, length, word);
}

TEST(test_names)
{
	static const struct {
		const char *word;
		enum native_match expected;
	} cases[] = {
		{ "dump-tree", NATIVE_EXACT },
		{ "dump-tre", NATIVE_PREFIX },
		{ "dump-trees", NATIVE_NONE },
		/* the better match is not the first */
		{ "dump", NATIVE_EXACT },
		{ "d", NATIVE_PREFIX },
		{ "bare", NATIVE_EXACT },
		{ "bare\nx", NATIVE_NONE },
		{ "dump-tree [options]", NATIVE_NONE },
		{ "last", NATIVE_EXACT },
		{ "<command>", NATIVE_NONE },
		{ "described", NATIVE_NONE },
		{ "indented", NATIVE_NONE },
		{ "other", NATIVE_NONE },
		{ "glued", NATIVE_NONE },
		{ "inspect-internal", NATIVE_NONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(match(help, sizeof(help) - 1, cases[i].word), cases[i].expected);
}

/* The word itself wins, whatever comes after it. */
TEST(test_word_before_longer_ones)
{
	static const char text[] = "    btrfs inspect-internal map [file]\n"
				   "    btrfs inspect-internal map-swapfile <file>\n"
				   "    btrfs inspect-internal other\n";

	assert_int_equal(match(text, sizeof(text) - 1, "map"), NATIVE_EXACT);
	assert_int_equal(match(text, sizeof(text) - 1, "map-"), NATIVE_PREFIX);
}

TEST(test_cut_anywhere)
{
	for (size_t length = 0; length < sizeof(help); length++) {
		bool is_whole = length == sizeof(help) - 1;

		assert_int_equal(match(help, length, "last"),
				 is_whole ? NATIVE_EXACT : NATIVE_NONE);
	}
}

TEST(test_bytes_that_are_no_text)
{
	static const char text[] = "\0\xff\n    btrfs inspect-internal na\0me x\n"
				   "    btrfs inspect-internal \xff\xfe y\n\n\n";

	assert_int_equal(match(text, sizeof(text) - 1, "na"), NATIVE_PREFIX);
	assert_int_equal(match(text, sizeof(text) - 1, "name"), NATIVE_NONE);
	assert_int_equal(match(text, sizeof(text) - 1, "\xff\xfe"), NATIVE_EXACT);
}
