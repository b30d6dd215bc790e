// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "probe/feature.h"

const struct feature features[FEATURE_COUNT] = {
#define FEATURE_ROW(id, name, version, patchlevel) \
	[FEATURE_##id] = { name, { version, patchlevel } },
	FEATURE_LIST(FEATURE_ROW)
#undef FEATURE_ROW
};

static const struct {
	enum feature_id feature;
	const char *name;
} symbols[] = {
#define SYMBOL_ROW(id, name) { FEATURE_##id, name },
	FEATURE_SYMBOL_LIST(SYMBOL_ROW)
#undef SYMBOL_ROW
};

/* The next word of *TEXT, which moves behind it; of length 0 at the end. */
static size_t next_word(const char **text, const char *end, const char **ret_word)
{
	while (*text < end && isspace((unsigned char)**text))
		++*text;
	*ret_word = *text;
	while (*text < end && !isspace((unsigned char)**text))
		++*text;
	return *text - *ret_word;
}

static bool word_is(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(word, name, length) == 0;
}

feature_set feature_list_parse(const char *text, size_t size)
{
	const char *end = text + size, *word;
	feature_set set = 0;
	size_t length;

	while ((length = next_word(&text, end, &word)))
		for (size_t i = 0; i < FEATURE_COUNT; i++)
			if (word_is(word, length, features[i].name))
				set |= 1U << i;
	return set;
}

feature_set feature_symbol_parse(const char *line, size_t size, const char **ret_symbol)
{
	const char *end = line + size, *word, *suffix;
	size_t length;

	/* an address and a type come first */
	if (!next_word(&line, end, &word) || next_word(&line, end, &word) != 1)
		return 0;
	length = next_word(&line, end, &word);
	/* The compiler calls what it has specialized NAME.isra.0, for example. */
	suffix = memchr(word, '.', length);
	if (suffix)
		length = suffix - word;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (!word_is(word, length, symbols[i].name))
			continue;
		*ret_symbol = symbols[i].name;
		return 1U << symbols[i].feature;
	}
	return 0;
}
