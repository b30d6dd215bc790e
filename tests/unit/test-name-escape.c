// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sys/cleanup.h"
#include "test.h"
#include "text/name-escape.h"

static void assert_escaped(const char *name, const char *expected)
{
	CLEANUP_FREE char *escaped = escape_name(name);

	assert_non_null(escaped);
	assert_string_equal(escaped, expected);
}

TEST(test_quoted_ascii)
{
	CLEANUP_FREE char *quoted = quote_name_to_ascii("it's \xc3\x9b\\");

	assert_non_null(quoted);
	assert_string_equal(quoted, "'it\\'s \\xc3\\x9b\\\\'");
}

static void assert_quoted(const char *name, const char *expected)
{
	CLEANUP_FREE char *quoted = quote_name(name);

	assert_non_null(quoted);
	assert_string_equal(quoted, expected);
}

TEST(test_every_byte)
{
	for (unsigned int byte = 1; byte <= 0xff; byte++) {
		const char name[] = { byte, '\0' };
		char expected[8];

		if (byte == '\\')
			strcpy(expected, "\\\\");
		else if (byte < 0x20 || byte >= 0x7f)
			sprintf(expected, "\\x%02x", byte);
		else
			strcpy(expected, name);
		assert_escaped(name, expected);
		assert_int_equal(name_is_utf8(name), byte < 0x80);
		assert_int_equal(name_is_plain(name), strcmp(expected, name) == 0);
	}
}

TEST(test_names)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "plain name.txt", "plain name.txt" },
		{ "it's", "it's" },
		{ "a\\b", "a\\\\b" },
		{ "\\x41", "\\\\x41" },
		{ "line\nbreak\ttab", "line\\x0abreak\\x09tab" },
		{ "\033[31mred", "\\x1b[31mred" },
		{ "stra\xc3\x9f\x65", "stra\xc3\x9f\x65" },
		{ "\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		/* latin-1, and UTF-8 after it */
		{ "gr\xf6\x65\xc3\xb6", "gr\\xf6\x65\xc3\xb6" },
		/* C1 controls, the first character after them, DEL */
		{ "\xc2\x80", "\\xc2\\x80" },
		{ "\xc2\x9b\x33\x31m", "\\xc2\\x9b31m" },
		{ "\xc2\x9f", "\\xc2\\x9f" },
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "\x7f", "\\x7f" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_escaped(cases[i][0], cases[i][1]);
	assert_true(name_is_plain(""));
	assert_true(name_is_plain("plain name.txt"));
	assert_false(name_is_plain("plain to the l\xc3\xa4st"));
	assert_false(name_is_plain("a\\"));
}

/* Each alone, and each between letters that could be read another way around with it. */
TEST(test_hidden_characters)
{
	static const char *const hidden[] = {
		/* Bidi_Control, all of it */
		"\xd8\x9c",
		"\xe2\x80\x8e",
		"\xe2\x80\x8f",
		"\xe2\x80\xaa",
		"\xe2\x80\xab",
		"\xe2\x80\xac",
		"\xe2\x80\xad",
		"\xe2\x80\xae",
		"\xe2\x81\xa6",
		"\xe2\x81\xa7",
		"\xe2\x81\xa8",
		"\xe2\x81\xa9",
		/* ends of lines and of paragraphs */
		"\xe2\x80\xa8",
		"\xe2\x80\xa9",
		/* without a width: space, joiners, byte order mark, soft hyphen, fillers */
		"\xe2\x80\x8b",
		"\xe2\x80\x8c",
		"\xe2\x80\x8d",
		"\xe2\x81\xa0",
		"\xef\xbb\xbf",
		"\xc2\xad",
		"\xcd\x8f",
		"\xe1\x85\x9f",
		"\xe3\x85\xa4",
		"\xef\xbe\xa0",
		/* variation selectors, an annotation, a tag */
		"\xef\xb8\x8f",
		"\xf3\xa0\x84\x80",
		"\xf3\xa0\x87\xaf",
		"\xef\xbf\xb9",
		"\xf3\xa0\x81\x81",
	};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		char name[16], expected[32], *out = expected;

		sprintf(name, "a%sb", hidden[i]);
		out += sprintf(out, "a");
		for (const char *s = hidden[i]; *s; s++)
			out += sprintf(out, "\\x%02x", (unsigned char)*s);
		strcpy(out, "b");
		assert_escaped(name, expected);
	}
}

/* What is next to the variation selectors chooses no form, whatever it follows. */
TEST(test_tags_after_a_letter)
{
	assert_escaped("\xe8\x91\x9b\xf3\xa0\x83\xbf", "\xe8\x91\x9b\\xf3\\xa0\\x83\\xbf");
	assert_escaped("\xe8\x91\x9b\xf3\xa0\x87\xb0", "\xe8\x91\x9b\\xf3\\xa0\\x87\\xb0");
}

/*
 * Persian, Devanagari, a family, a heart in colour, a Japanese place in its own form, and what is
 * next to the ranges.
 */
TEST(test_characters_that_show)
{
	static const char *const names[] = {
		"\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae\xd9\x88",
		"\xe0\xa4\x95\xe2\x80\x8d\xe0\xa4\xb7",
		"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
		"\xe2\x9d\xa4\xef\xb8\x8f",
		"\xe8\x91\x9b\xf3\xa0\x84\x80\xe5\x9f\x8e",
		"\xe9\x82\x89\xf3\xa0\x87\xaf",
		"\xc2\xac",
		"\xc2\xae",
		"\xd8\x9b",
		"\xd8\x9d",
		"\xe2\x80\x8a",
		"\xe2\x80\x90",
		"\xe2\x80\xa7",
		"\xe2\x80\xaf",
		"\xe2\x81\x9f",
		"\xe2\x81\xb0",
		"\xef\xbb\xbc",
		"\xef\xbf\xbc",
		"\xf3\x9f\xbf\xbf",
		"\xf3\xa1\x80\x80",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_escaped(names[i], names[i]);
}

TEST(test_quoted_names)
{
	assert_quoted("", "''");
	assert_quoted("name", "'name'");
	assert_quoted("it's", "'it\\'s'");
	assert_quoted("a\\'b", "'a\\\\\\'b'");
	assert_quoted("\n\xff", "'\\x0a\\xff'");
}

TEST(test_well_formed_utf8)
{
	static const char *const names[] = {
		"",
		"a",
		"\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xec\xbf\xbf",
		/* next to the surrogates, the last of the basic plane, the first and last of all */
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(name_is_utf8(names[i]));
}

TEST(test_malformed_utf8)
{
	static const char *const names[] = {
		/* a continuation alone, characters cut off, at the end and by another */
		"\x80",
		"\xbf",
		"\xc2",
		"\xe0\xa0",
		"\xf0\x90\x80",
		"\xc2\x61",
		"\xe0\xa0\x61",
		"\xf0\x90\x80\x61",
		"\xc2\xc2\x80",
		/* overlong forms */
		"\xc0\x80",
		"\xc0\xaf",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		/* surrogates */
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xed\xa0\x80\xed\xb0\x80",
		/* beyond the last character */
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xfe",
		"\xff",
		/* after something good */
		"abc\xff",
		"\xc3\xb6\xc3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP_FREE char *escaped = escape_name(names[i]);

		assert_false(name_is_utf8(names[i]));
		assert_non_null(escaped);
		assert_true(name_is_utf8(escaped));
		assert_non_null(strstr(escaped, "\\x"));
	}
}

/* Undoes escape_name(). */
static void unescape(const char *escaped, char *name)
{
	while (*escaped) {
		unsigned int byte;

		if (escaped[0] != '\\') {
			*name++ = *escaped++;
		} else if (escaped[1] == '\\') {
			*name++ = '\\';
			escaped += 2;
		} else {
			assert_int_equal(sscanf(escaped, "\\x%02x", &byte), 1);
			*name++ = byte;
			escaped += 4;
		}
	}
	*name = '\0';
}

static void assert_can_be_undone(const char *name)
{
	CLEANUP_FREE char *escaped = escape_name(name);
	char again[8];

	assert_non_null(escaped);
	assert_true(name_is_utf8(escaped));
	unescape(escaped, again);
	assert_string_equal(again, name);
}

/* No two names look the same, since each can be had back. */
TEST(test_escaping_can_be_undone)
{
	static const unsigned char bytes[] = {
		'\\', 'x',  '0',  'a',	0x1b, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
		0xa0, 0xbf, 0xc2, 0xc3, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xff,
	};
	const size_t count = ARRAY_SIZE(bytes);

	for (unsigned int i = 1; i <= 0xffff; i++) {
		const char name[] = { i & 0xff, i >> 8, '\0' };

		if (name[0])
			assert_can_be_undone(name);
	}
	for (size_t i = 0; i < count * count * count * count; i++) {
		const char name[] = {
			bytes[i % count],
			bytes[i / count % count],
			bytes[i / count / count % count],
			bytes[i / count / count / count],
			'\0',
		};

		assert_can_be_undone(name);
	}
}
