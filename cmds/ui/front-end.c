// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "path/own-link.h"
#include "ui/front-end.h"

#if defined(FRONT_END_IN_BINDIR) && !defined(FRONT_END_APART)

const char front_end_path[] = FRONT_END_DIR "/btrfs";
const bool front_end_is_fixed = true;
const struct front_end_link front_end_links[] = { { 0 } };
const size_t front_end_link_count = 0;

#else

#define LOCAL "/usr/local"

const char front_end_path[] = LOCAL "/bin/btrfs";
const bool front_end_is_fixed = false;
const struct front_end_link front_end_links[FRONT_END_LINKS_MAX] = {
	{ front_end_path, FRONT_END_DIR "/btrfs", 0 },
	{ LOCAL "/share/bash-completion/completions/btrfs", PKGDATADIR "/bash-completion/btrfs",
	  2 },
	{ "/etc/bash_completion.d/btrfs-front-end", PKGDATADIR "/bash-completion/btrfs-front-end",
	  1 },
};
const size_t front_end_link_count = sizeof(front_end_links) / sizeof(front_end_links[0]);

#endif

bool front_end_is_enabled(void)
{
	enum own_link_state state;

	if (front_end_is_fixed)
		return access(front_end_path, X_OK) == 0;
	return own_link_look(front_end_path, front_end_links[0].target, &state) == 0 &&
	       state == OWN_LINK_PRESENT && access(front_end_path, X_OK) == 0;
}

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
