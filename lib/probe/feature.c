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

static const struct feature_symbol symbols[] = {
#define SYMBOL_ROW(id, state, name) { FEATURE_##id, FEATURE_##state, name },
	FEATURE_SYMBOL_LIST(SYMBOL_ROW)
#undef SYMBOL_ROW
};

/* What this package's patches do on a release. */
static const struct {
	enum feature_id feature;
	enum feature_state state;
	struct kernel_release release;
} patched[] = {
#define SERIES_ROW(id, state, version, patchlevel) \
	{ FEATURE_##id, FEATURE_##state, { version, patchlevel } },
	FEATURE_SERIES_LIST(SERIES_ROW)
#undef SERIES_ROW
};

enum feature_state feature_state_patched(enum feature_id feature, struct kernel_release release)
{
	for (size_t i = 0; i < sizeof(patched) / sizeof(patched[0]); i++)
		if (patched[i].feature == feature &&
		    kernel_release_compare(patched[i].release, release) == 0)
			return patched[i].state;
	return FEATURE_UNKNOWN;
}

const char *feature_state_name(enum feature_state state)
{
	static const char *const names[] = {
		[FEATURE_UNKNOWN] = "unknown",
		[FEATURE_ABSENT] = "absent",
		[FEATURE_PRESENT] = "present",
		[FEATURE_IMPROVED] = "improved",
	};

	return names[state];
}

bool feature_state_is_present(enum feature_state state)
{
	return state >= FEATURE_PRESENT;
}

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

/* The state of the feature NAME according to WORD. */
static enum feature_state state_in_word(const char *word, size_t length, const char *name)
{
	size_t name_length = strlen(name);

	if (word_is(word, length, name))
		return FEATURE_PRESENT;
	if (length <= name_length || !word_is(word, name_length, name))
		return FEATURE_ABSENT;
	return word_is(word + name_length, length - name_length, ":improved") ? FEATURE_IMPROVED :
										FEATURE_ABSENT;
}

static enum feature_state greater(enum feature_state a, enum feature_state b)
{
	return a > b ? a : b;
}

void feature_list_parse(const char *text, size_t size, enum feature_state ret_states[FEATURE_COUNT])
{
	const char *end = text + size, *word;
	size_t length;

	for (size_t i = 0; i < FEATURE_COUNT; i++)
		ret_states[i] = FEATURE_ABSENT;
	while ((length = next_word(&text, end, &word)))
		for (size_t i = 0; i < FEATURE_COUNT; i++)
			ret_states[i] = greater(ret_states[i],
						state_in_word(word, length, features[i].name));
}

const struct feature_symbol *feature_symbol_parse(const char *line, size_t size)
{
	const char *end = line + size, *word, *suffix;
	size_t length;

	/* an address and a type come first */
	if (!next_word(&line, end, &word) || next_word(&line, end, &word) != 1)
		return NULL;
	length = next_word(&line, end, &word);
	/* The compiler calls what it has specialized NAME.isra.0, for example. */
	suffix = memchr(word, '.', length);
	if (suffix)
		length = suffix - word;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (word_is(word, length, symbols[i].name))
			return &symbols[i];
	return NULL;
}
