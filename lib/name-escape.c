// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name-escape.h"

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

static bool is_control(const unsigned char *s)
{
	/* C0, DEL, and C1, which some terminals obey too */
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
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

static char *escape(const char *name, const char *special, const char *quote)
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

		if (!length || is_control(s)) {
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
	return escape(name, "\\", "");
}

char *quote_name(const char *name)
{
	return escape(name, "\\'", "'");
}
