// SPDX-License-Identifier: GPL-2.0-only
/* An input is a word on a line of its own, and after it the help of btrfs-progs. */
#include "config.h"

#include <string.h>

#include "ui/front-end.h"
#include "fuzz.h"
#include "sys/cleanup.h"

/* What begins like a subcommand does so with fewer letters, too. */
static void check_prefixes(const char *help, size_t length, char *word)
{
	while (word[1]) {
		word[strlen(word) - 1] = '\0';
		INVARIANT(btrfs_progs_help_match(help, length, word) != NATIVE_NONE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t word_size = newline ? (size_t)(newline - data) : 0;
	CLEANUP_FREE char *word = fuzz_string(data, word_size);
	CLEANUP_FREE char *help = NULL;
	size_t length;

	if (!*word)
		return 0;
	length = size - word_size - 1;
	help = fuzz_copy(newline + 1, length);
	if (btrfs_progs_help_match(help, length, word) != NATIVE_NONE)
		check_prefixes(help, length, word);
	return 0;
}
