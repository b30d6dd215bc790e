// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/name-escape.h"
#include "base/shell-quote.h"

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
