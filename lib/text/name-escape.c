// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/name-escape.h"

/* How many bytes the UTF-8 character at S takes, 0 if there is none. */
static size_t utf8_length(const unsigned char *s)
{
	size_t length;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		length = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		length = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		length = 4;
	else
		return 0;

	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;

	/* overlong, surrogate, beyond U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

struct code_points {
	uint32_t first, last;
};

static bool is_among(uint32_t code_point, const struct code_points *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code_point >= ranges[i].first && code_point <= ranges[i].last)
			return true;
	return false;
}

static bool is_hidden(uint32_t code_point)
{
	static const struct code_points ranges[] = {
		/* C0, DEL and C1 */
		{ 0x00, 0x1f },
		{ 0x7f, 0x9f },
		/* soft hyphen, combining grapheme joiner, Arabic letter mark */
		{ 0xad, 0xad },
		{ 0x34f, 0x34f },
		{ 0x61c, 0x61c },
		/* fillers, inherent vowels and the Mongolian separator without a form */
		{ 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },
		{ 0x180e, 0x180e },
		/* the space without a width, marks of direction */
		{ 0x200b, 0x200b },
		{ 0x200e, 0x200f },
		/* ends of lines and paragraphs, embeddings and overrides */
		{ 0x2028, 0x202e },
		/* word joiner, invisible operators, isolates */
		{ 0x2060, 0x206f },
		{ 0x3164, 0x3164 },
		/* byte order mark */
		{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },
		/* unassigned, annotations */
		{ 0xfff0, 0xfffb },
		/* shorthand and musical controls */
		{ 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a },
		/* tags, and what is unassigned around the variation selectors */
		{ 0xe0000, 0xe00ff },
		{ 0xe01f0, 0xe0fff },
	};

	return is_among(code_point, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

/* Joiners and variation selectors, which choose a form of the character before. */
static bool shapes_neighbour(uint32_t code_point)
{
	static const struct code_points ranges[] = {
		{ 0x180b, 0x180d }, { 0x180f, 0x180f },	  { 0x200c, 0x200d },
		{ 0xfe00, 0xfe0f }, { 0xe0100, 0xe01ef },
	};

	return is_among(code_point, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

/* The code point of the UTF-8 character of LENGTH bytes at S. */
static uint32_t decode(const unsigned char *s, size_t length)
{
	uint32_t code_point = length == 1 ? s[0] : s[0] & (0x7f >> length);

	for (size_t i = 1; i < length; i++)
		code_point = code_point << 6 | (s[i] & 0x3f);
	return code_point;
}

/* Whether the character of LENGTH bytes at S, a place in NAME, would not show as what it is. */
static bool hides(const unsigned char *name, const unsigned char *s, size_t length)
{
	bool follows_ascii = s == name || s[-1] < 0x80;
	uint32_t code_point;

	if (*s >= ' ' && *s < 0x7f)
		return false;
	code_point = decode(s, length);
	return is_hidden(code_point) || (follows_ascii && shapes_neighbour(code_point));
}

bool name_is_utf8(const char *name)
{
	const unsigned char *s = (const unsigned char *)name;

	while (*s) {
		size_t length = utf8_length(s);

		if (!length)
			return false;
		s += length;
	}
	return true;
}

bool name_is_plain(const char *name)
{
	for (const char *s = name; *s; s++)
		if (*s < ' ' || *s > '~' || *s == '\\')
			return false;
	return true;
}

static char *escape(const char *name, const char *special, const char *quote, bool to_ascii)
{
	const unsigned char *s = (const unsigned char *)name;
	/* the longest form of a byte is \xHH */
	char *escaped = malloc(4 * strlen(name) + 2 * strlen(quote) + 1);
	char *out = escaped;

	if (!escaped)
		return NULL;

	out = stpcpy(out, quote);
	while (*s) {
		size_t length = utf8_length(s);

		/* Without its first byte the rest of a character is not UTF-8. */
		if (!length || (to_ascii && length > 1) ||
		    hides((const unsigned char *)name, s, length)) {
			out += sprintf(out, "\\x%02x", *s);
			s++;
			continue;
		}
		if (length == 1 && strchr(special, *s))
			*out++ = '\\';
		memcpy(out, s, length);
		out += length;
		s += length;
	}
	strcpy(out, quote);
	return escaped;
}

char *escape_name(const char *name)
{
	return escape(name, "\\", "", false);
}

char *escape_name_to_ascii(const char *name)
{
	return escape(name, "\\", "", true);
}

char *quote_name(const char *name)
{
	return escape(name, "\\'", "'", false);
}

char *quote_name_to_ascii(const char *name)
{
	return escape(name, "\\'", "'", true);
}

/* What the longest form of a byte takes: \ooo, or a quote that ends, escapes and begins again. */
#define BYTE_SIZE_MAX 4
static char *add_escaped(char *out, unsigned char byte)
{
	/* A shell that does not know $'' would end the word at \', and run what follows. */
	if (byte < ' ' || byte > '~' || byte == '\'' || byte == '\\')
		return out + sprintf(out, "\\%03o", byte);
	*out++ = byte;
	return out;
}

/* There is no escape between single quotes. */
static char *add_plain(char *out, unsigned char byte)
{
	if (byte == '\'')
		return out + sprintf(out, "'\\''");
	*out++ = byte;
	return out;
}

char *shell_quote(const char *name)
{
	char *(*add)(char *out, unsigned char byte) = name_is_plain(name) ? add_plain : add_escaped;
	/* one byte more, for $'' and the end of the string */
	char *quoted = calloc(strlen(name) + 1, BYTE_SIZE_MAX);
	char *out;

	if (!quoted)
		return NULL;
	out = quoted;
	if (add == add_escaped)
		*out++ = '$';
	*out++ = '\'';
	for (const char *in = name; *in; in++)
		out = add(out, *in);
	*out++ = '\'';
	*out = '\0';
	return quoted;
}
