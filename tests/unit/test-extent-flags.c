// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <linux/fiemap.h>

#include "sys/cleanup.h"
#include "test.h"
#include "ui/json.h"

static void assert_flags(uint32_t flags, const char *text_expected, const char *json_expected)
{
	char text[EXTENT_FLAGS_TEXT_SIZE];
	CLEANUP_FREE char *answer = NULL;
	struct json_writer json;
	const char *array;
	size_t size;
	FILE *stream;

	assert_string_equal(format_extent_flags(text, flags), text_expected);

	stream = open_memstream(&answer, &size);
	assert_non_null(stream);
	json_begin(&json, stream, JSON_DOCUMENT);
	json_add_extent_flags(&json, "flags", flags);
	json_end(&json);
	assert_int_equal(fclose(stream), 0);
	array = strstr(answer, "\"flags\": ");
	assert_non_null(array);
	assert_string_equal(array + strlen("\"flags\": "), json_expected);
}

TEST(test_none)
{
	assert_flags(0, "-", "[]\n}\n");
}

TEST(test_names)
{
	assert_flags(FIEMAP_EXTENT_LAST, "last", "[\n    \"last\"\n  ]\n}\n");
	assert_flags(FIEMAP_EXTENT_SHARED | FIEMAP_EXTENT_ENCODED, "shared,encoded",
		     "[\n    \"shared\",\n    \"encoded\"\n  ]\n}\n");
}

/* Flags of later kernels, alone and with others. */
TEST(test_without_a_name)
{
	assert_flags(0x80000000, "0x80000000", "[\n    \"0x80000000\"\n  ]\n}\n");
	assert_flags(FIEMAP_EXTENT_LAST | 0x40000000, "last,0x40000000",
		     "[\n    \"last\",\n    \"0x40000000\"\n  ]\n}\n");
}

/* All of them fit into the text. */
TEST(test_all)
{
	char text[EXTENT_FLAGS_TEXT_SIZE];

	assert_true(strlen(format_extent_flags(text, UINT32_MAX)) < sizeof(text));
	assert_non_null(strstr(text, "shared,"));
	assert_non_null(strstr(text, ",last,0x"));
}
