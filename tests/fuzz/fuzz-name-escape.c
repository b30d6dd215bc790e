// SPDX-License-Identifier: GPL-2.0-only
/* An input is a file name. */
#include "config.h"

#include <string.h>

#include "fuzz.h"
#include "sys/cleanup.h"
#include "text/name-escape.h"

static unsigned int hex_value(char digit)
{
	const char *found = strchr("0123456789abcdef", digit);

	INVARIANT(digit && found);
	return found - "0123456789abcdef";
}

/* ESCAPED says what NAME is, byte for byte. */
static void check_meaning(const char *escaped, const char *name)
{
	for (; *name; name++) {
		unsigned char byte = *escaped++;

		if (byte == '\\' && *escaped == 'x') {
			byte = hex_value(escaped[1]) << 4;
			byte |= hex_value(escaped[2]);
			escaped += 3;
		} else if (byte == '\\') {
			INVARIANT(*escaped == '\\');
			escaped++;
		}
		INVARIANT(byte == (unsigned char)*name);
	}
	INVARIANT(!*escaped);
}

/* Marks of direction, separators, and what has no width. */
static const char *const hidden[] = {
	"\xd8\x9c",	"\xe2\x80\x8b", "\xe2\x80\x8e", "\xe2\x80\x8f",
	"\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xab",
	"\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6",
	"\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9", "\xef\xbb\xbf",
};

/* Neither C0 nor DEL nor C1, nor any of the above. */
static void check_harmless(const char *text)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		INVARIANT(!strstr(text, hidden[i]));
	INVARIANT(name_is_utf8(text));
	for (; *text; text++) {
		unsigned char byte = *text, next = text[1];

		INVARIANT(byte >= ' ' && byte != 0x7f);
		INVARIANT(byte != 0xc2 || next >= 0xa0);
	}
}

static void check_quoted(const char *quoted)
{
	size_t length = strlen(quoted);

	INVARIANT(length >= 2 && quoted[0] == '\'' && quoted[length - 1] == '\'');
	for (size_t i = 1; i < length - 1; i++) {
		INVARIANT(quoted[i] != '\'');
		if (quoted[i] == '\\')
			i++;
		INVARIANT(i < length - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *name = fuzz_string(data, size);
	CLEANUP_FREE char *escaped = escape_name(name);
	CLEANUP_FREE char *quoted = quote_name(name);

	INVARIANT(escaped && quoted);
	check_meaning(escaped, name);
	check_harmless(escaped);
	check_harmless(quoted);
	check_quoted(quoted);
	return 0;
}
