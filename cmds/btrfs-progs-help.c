// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>

#include "btrfs-progs-help.h"

static const char usage_start[] = "    btrfs inspect-internal ";

static size_t length_until(const char *text, size_t length, char end)
{
	const char *found = memchr(text, end, length);

	return found ? (size_t)(found - text) : length;
}

static enum native_match match_line(const char *line, size_t length, const char *word)
{
	const size_t start = sizeof(usage_start) - 1;
	const size_t word_length = strlen(word);
	size_t name_length;

	if (length < start || memcmp(line, usage_start, start) != 0)
		return NATIVE_NONE;

	name_length = length_until(line + start, length - start, ' ');
	if (name_length < word_length || memcmp(line + start, word, word_length) != 0)
		return NATIVE_NONE;
	return name_length == word_length ? NATIVE_EXACT : NATIVE_PREFIX;
}

enum native_match btrfs_progs_help_match(const char *help, size_t length, const char *word)
{
	enum native_match best = NATIVE_NONE;

	for (size_t position = 0; position < length;) {
		const char *line = help + position;
		size_t line_length = length_until(line, length - position, '\n');
		enum native_match match = match_line(line, line_length, word);

		if (match > best)
			best = match;
		position += line_length + 1;
	}
	return best;
}
