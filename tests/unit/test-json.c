// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "sys/cleanup.h"
#include "test.h"
#include "ui/json.h"
#include "ui/standard-files.h"

#define HEADER "{\n  \"__header\": {\n    \"version\": \"1\"\n  }"

static struct json_writer json;
static char *text;
static size_t text_size;

static int setup(void **state)
{
	FILE *stream = open_memstream(&text, &text_size);

	(void)state;
	if (!stream)
		return -1;
	json_begin(&json, stream, JSON_DOCUMENT);
	return 0;
}

static int setup_lines(void **state)
{
	FILE *stream = open_memstream(&text, &text_size);

	(void)state;
	if (!stream)
		return -1;
	json_begin_results(&json, stream, JSON_LINES, "list");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	return 0;
}

/* Ends the writing; the text is then complete. */
static void end(void)
{
	json_end(&json);
	assert_int_equal(fclose(json.stream), 0);
}

static void assert_text(const char *expected)
{
	end();
	assert_string_equal(text, expected);
}

/* The text as an independent reader has it, to be freed with json_object_put(). */
static struct json_object *read_back(void)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;

	end();
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text, text_size);
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	json_tokener_free(tokener);
	return object;
}

static void assert_string_member(struct json_object *object, const char *key, const char *expected)
{
	struct json_object *member;

	assert_true(json_object_object_get_ex(object, key, &member));
	assert_string_equal(json_object_get_string(member), expected);
}

TEST_WITH(test_header_alone, setup, teardown)
{
	assert_text(HEADER "\n}\n");
}

TEST_WITH(test_values, setup, teardown)
{
	json_add_uint(&json, "zero", 0);
	json_add_uint(&json, "largest", UINT64_MAX);
	json_add_int(&json, "negative", -1);
	json_add_int(&json, "least", INT64_MIN);
	json_add_bool(&json, "yes", true);
	json_add_bool(&json, "no", false);
	json_add_null(&json, "none");
	json_add_string(&json, "text", "a/b");
	assert_text(HEADER ",\n"
			   "  \"zero\": 0,\n"
			   "  \"largest\": 18446744073709551615,\n"
			   "  \"negative\": -1,\n"
			   "  \"least\": -9223372036854775808,\n"
			   "  \"yes\": true,\n"
			   "  \"no\": false,\n"
			   "  \"none\": null,\n"
			   "  \"text\": \"a/b\"\n"
			   "}\n");
}

TEST_WITH(test_nesting, setup, teardown)
{
	json_begin_array(&json, "list");
	json_add_uint(&json, NULL, 1);
	json_begin_object(&json, NULL);
	json_add_uint(&json, "two", 2);
	json_begin_array(&json, "three");
	json_add_string(&json, NULL, "x");
	json_end_array(&json);
	json_end_object(&json);
	json_end_array(&json);
	json_add_uint(&json, "after", 3);
	assert_text(HEADER ",\n"
			   "  \"list\": [\n"
			   "    1,\n"
			   "    {\n"
			   "      \"two\": 2,\n"
			   "      \"three\": [\n"
			   "        \"x\"\n"
			   "      ]\n"
			   "    }\n"
			   "  ],\n"
			   "  \"after\": 3\n"
			   "}\n");
}

TEST_WITH(test_empty_containers, setup, teardown)
{
	json_begin_array(&json, "array");
	json_end_array(&json);
	json_begin_object(&json, "object");
	json_end_object(&json);
	json_begin_array(&json, "arrays");
	json_begin_array(&json, NULL);
	json_end_array(&json);
	json_begin_array(&json, NULL);
	json_end_array(&json);
	json_end_array(&json);
	assert_text(HEADER ",\n"
			   "  \"array\": [],\n"
			   "  \"object\": {},\n"
			   "  \"arrays\": [\n"
			   "    [],\n"
			   "    []\n"
			   "  ]\n"
			   "}\n");
}

/* The top object takes one level. */
TEST_WITH(test_deepest_nesting, setup, teardown)
{
	struct json_object *object;

	for (size_t i = 0; i < JSON_DEPTH_MAX - 2; i++)
		json_begin_object(&json, "deeper");
	json_add_bool(&json, "bottom", true);
	for (size_t i = 0; i < JSON_DEPTH_MAX - 2; i++)
		json_end_object(&json);

	object = read_back();
	for (struct json_object *level = object, *next; level; level = next) {
		if (!json_object_object_get_ex(level, "deeper", &next)) {
			assert_true(json_object_object_get_ex(level, "bottom", &next));
			break;
		}
	}
	json_object_put(object);
}

/* Strings come back as they were, whatever is in them. */
TEST_WITH(test_escapes, setup, teardown)
{
	static const char *const strings[] = {
		"",
		"\"",
		"\\",
		"a\"b\\c/d",
		"\b\f\n\r\t",
		"\001\037",
		"\x7f",
		"\033[31m",
		"\xc2\x9b",
		("gr\xc3\xb6\xc3\x9f"
		 "e"),
		"\xe2\x80\xa8",
		"\xf0\x9f\x98\x80",
		"</script>",
		"\xc2\x80",
		"\xc2\x9f",
		"\xc2\xa0",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xe2\x80\xae",
		"~",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};
	struct json_object *object;

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		json_add_string(&json, (char[]){ 'A' + i, '\0' }, strings[i]);
	json_add_string(&json, "key \"with\" \n", "x");
	object = read_back();
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		assert_string_member(object, (char[]){ 'A' + i, '\0' }, strings[i]);
	assert_string_member(object, "key \"with\" \n", "x");
	json_object_put(object);

	/* no byte changes a terminal, and none is read otherwise elsewhere */
	for (size_t i = 0; i < text_size; i++)
		assert_true(text[i] == '\n' || (text[i] >= ' ' && text[i] < 0x7f));
}

/* What is ASCII is written as json-c writes it, and the rest, which it leaves alone, is escaped. */
TEST_WITH(test_bytes_as_json_c_has_them, setup, teardown)
{
	for (unsigned int byte = 1; byte < 0x7f; byte++)
		json_add_string(&json, "x", (char[]){ 'a', (char)byte, 'z', '\0' });
	end();
	for (unsigned int byte = 1; byte < 0x7f; byte++) {
		struct json_object *string =
			json_object_new_string((char[]){ 'a', (char)byte, 'z', '\0' });
		const char *expected =
			json_object_to_json_string_ext(string, JSON_C_TO_STRING_NOSLASHESCAPE);

		assert_non_null(strstr(text, expected));
		json_object_put(string);
	}
}

TEST_WITH(test_code_points, setup, teardown)
{
	json_add_string(&json, "x", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf");
	json_add_string(&json, "y", "\xf0\x90\x80\x80 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
	assert_text(HEADER ",\n"
			   "  \"x\": \"\\u007f\\u0080\\u07ff\\u0800\\uffff\",\n"
			   "  \"y\": \"\\ud800\\udc00 \\ud83d\\ude00 \\udbff\\udfff\"\n"
			   "}\n");
}

/* Each byte alone: what is not UTF-8 is told byte by byte. */
TEST_WITH(test_every_byte, setup, teardown)
{
	struct json_object *object;

	for (unsigned int byte = 0x80; byte < 0x100; byte++) {
		char key[8];

		snprintf(key, sizeof(key), "%u", byte);
		json_add_string(&json, key, (char[]){ (char)byte, '\0' });
	}
	object = read_back();
	for (unsigned int byte = 0x80; byte < 0x100; byte++) {
		char key[8], expected[8];

		snprintf(key, sizeof(key), "%u", byte);
		snprintf(expected, sizeof(expected), "\\x%02x", byte);
		assert_string_member(object, key, expected);
	}
	json_object_put(object);
}

/* A message in another encoding, for example. */
TEST_WITH(test_other_bytes, setup, teardown)
{
	static const char *const strings[] = {
		"\xff", "a\xc3", "\x80z", "\xf7\xbf\xbf\xbf", "\xe2\x80",
	};
	struct json_object *object;

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		json_add_string(&json, (char[]){ 'A' + i, '\0' }, strings[i]);
	object = read_back();
	assert_string_member(object, "A", "\\xff");
	assert_string_member(object, "B", "a\\xc3");
	assert_string_member(object, "C", "\\x80z");
	assert_string_member(object, "D", "\\xf7\\xbf\\xbf\\xbf");
	assert_string_member(object, "E", "\\xe2\\x80");
	json_object_put(object);
}

TEST_WITH(test_utf8_name, setup, teardown)
{
	struct json_object *object;

	json_add_name(&json, "path",
		      "gr\xc3\xb6\xc3\x9f"
		      "e\n\\");
	object = read_back();
	assert_string_member(object, "path",
			     "gr\xc3\xb6\xc3\x9f"
			     "e\n\\");
	assert_false(json_object_object_get_ex(object, "path_encoding", NULL));
	json_object_put(object);
}

TEST_WITH(test_other_name, setup, teardown)
{
	struct json_object *object;

	json_add_name(&json, "path",
		      "gr\xf6"
		      "e\n\\");
	object = read_back();
	assert_string_member(object, "path",
			     "gr\\xf6"
			     "e\\x0a\\\\");
	assert_string_member(object, "path_encoding", "escaped");
	json_object_put(object);
}

TEST_WITH(test_what_is_not_known, setup, teardown)
{
	json_add_name(&json, "path", NULL);
	json_add_string(&json, "verdict", NULL);
	assert_text(HEADER ",\n"
			   "  \"path\": null,\n"
			   "  \"verdict\": null\n"
			   "}\n");
}

TEST(test_each_stream_has_its_own_error)
{
	struct json_writer full = { .stream = fopen("/dev/full", "w"), .style = JSON_LINES };
	int err;

	assert_non_null(full.stream);
	setbuf(full.stream, NULL);
	json_add_uint(&full, NULL, 1);
	assert_int_equal(full.error, -ENOSPC);
	assert_int_equal(standard_output_flush(&err), 0);
	fclose(full.stream);
}

static const char *name_at(struct json_object *array, size_t index)
{
	return json_object_get_string(json_object_array_get_idx(array, index));
}

TEST_WITH(test_utf8_names, setup, teardown)
{
	const char *const names[] = { "a", "b\\x", NULL };
	struct json_object *object, *array;

	json_add_names(&json, "paths", names);
	object = read_back();
	assert_true(json_object_object_get_ex(object, "paths", &array));
	assert_int_equal(json_object_array_length(array), 2);
	assert_string_equal(name_at(array, 0), "a");
	assert_string_equal(name_at(array, 1), "b\\x");
	assert_false(json_object_object_get_ex(object, "paths_encoding", NULL));
	json_object_put(object);
}

/* One name that is not UTF-8 makes all of them escaped, so that one mark says it of all. */
TEST_WITH(test_other_names, setup, teardown)
{
	const char *const names[] = { "a", "\xff", "b\\x", NULL };
	struct json_object *object, *array;

	json_add_names(&json, "paths", names);
	object = read_back();
	assert_true(json_object_object_get_ex(object, "paths", &array));
	assert_int_equal(json_object_array_length(array), 3);
	assert_string_equal(name_at(array, 0), "a");
	assert_string_equal(name_at(array, 1), "\\xff");
	assert_string_equal(name_at(array, 2), "b\\\\x");
	assert_string_member(object, "paths_encoding", "escaped");
	json_object_put(object);
}

#define LINE "{\"__header\":{\"version\":\"1\"}"

/* The commas are those of each line alone. */
TEST_WITH(test_lines, setup_lines, teardown)
{
	json_begin_result(&json);
	json_add_string(&json, "text", "a\nb: c, d");
	json_begin_array(&json, "values");
	json_add_uint(&json, NULL, 1);
	json_add_null(&json, NULL);
	json_end_array(&json);
	json_end_result(&json);
	json_begin_result(&json);
	json_end_result(&json);
	json_end_results(&json);
	json_begin_object(&json, "total");
	json_add_uint(&json, "count", 2);
	json_end_object(&json);
	assert_text(LINE ",\"list\":{\"text\":\"a\\nb: c, d\",\"values\":[1,null]}}\n" LINE
			 ",\"list\":{}}\n" LINE ",\"total\":{\"count\":2}}\n");
}

TEST_WITH(test_each_line_is_flushed, setup_lines, teardown)
{
	for (size_t before = 0, lines = 0; lines < 3; lines++) {
		json_begin_result(&json);
		json_end_result(&json);
		/* of a memory stream the size is that at the last flush */
		assert_int_equal(text_size, before + strlen(LINE ",\"list\":{}}\n"));
		before = text_size;
	}
	json_end_results(&json);
	end();
}

/* The keys next to the results of a document. */
TEST_WITH(test_results_of_a_document, setup_lines, teardown)
{
	json_begin_results(&json, json.stream, JSON_DOCUMENT, "list");
	json_begin_result(&json);
	json_end_result(&json);
	json_end_results(&json);
	json_add_uint(&json, "total", 1);
	assert_text(HEADER ",\n"
			   "  \"list\": [\n"
			   "    {}\n"
			   "  ],\n"
			   "  \"total\": 1\n"
			   "}\n");
}

static void fail_result_within(unsigned int depth)
{
	json_begin_result(&json);
	for (unsigned int i = 0; i < depth; i++)
		if (i % 2)
			json_begin_object(&json, NULL);
		else
			json_begin_array(&json, "within");
	json_fail_result(&json, "why");
	json_end_result(&json);
}

TEST_WITH(test_failed_results_of_a_document, setup_lines, teardown)
{
	json_begin_results(&json, json.stream, JSON_DOCUMENT, "list");
	for (unsigned int depth = 0; depth < 3; depth++)
		fail_result_within(depth);
	json_end_results(&json);
	assert_text(HEADER ",\n"
			   "  \"list\": [\n"
			   "    {\n"
			   "      \"error\": \"why\"\n"
			   "    },\n"
			   "    {\n"
			   "      \"within\": [],\n"
			   "      \"error\": \"why\"\n"
			   "    },\n"
			   "    {\n"
			   "      \"within\": [\n"
			   "        {}\n"
			   "      ],\n"
			   "      \"error\": \"why\"\n"
			   "    }\n"
			   "  ]\n"
			   "}\n");
}

TEST_WITH(test_failed_line, setup_lines, teardown)
{
	fail_result_within(2);
	json_end_results(&json);
	assert_text(LINE ",\"list\":{\"within\":[{}],\"error\":\"why\"}}\n" LINE "}\n");
}

/* stdio has no errno for what it could not write before. */
TEST(test_errno_of_a_lost_write)
{
	int copy, full, err;

	fflush(stdout);
	copy = dup(STDOUT_FILENO);
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(copy >= 0 && full >= 0);
	dup2(full, STDOUT_FILENO);
	close(full);
	json_begin(&json, stdout, JSON_DOCUMENT);
	for (int i = 0; i < 1 << 16; i++)
		json_add_uint(&json, "many", i);
	json_end(&json);
	/* it drops what it has kept */
	__fpurge(stdout);
	assert_int_equal(standard_output_flush(&err), -1);
	dup2(copy, STDOUT_FILENO);
	close(copy);
	assert_int_equal(err, -ENOSPC);
	assert_int_equal(standard_output_flush(&err), 0);
}
