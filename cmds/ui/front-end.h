/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FRONT_END_H
#define FASTPATH_FRONT_END_H

#include <stdbool.h>
#include <stddef.h>

/* The front end as it is called: a program named btrfs in a directory that is in PATH. */
extern const char front_end_path[];

/*
 * Whether it was installed in FRONT_END_PATH itself. Otherwise a link there leads to where it was
 * installed, as long as it is enabled.
 */
extern const bool front_end_is_fixed;

struct front_end_link {
	const char *path;
	const char *target;
	/* how many directories above it nobody else needs */
	unsigned int own_directories;
};

#define FRONT_END_LINKS_MAX 3

/* The first one is FRONT_END_PATH. The others are for the completion. */
extern const struct front_end_link front_end_links[];
extern const size_t front_end_link_count;

/* Whether calls of FRONT_END_PATH reach the front end. */
bool front_end_is_enabled(void);

/* Ordered: a better match is greater. */
enum native_match { NATIVE_NONE, NATIVE_PREFIX, NATIVE_EXACT };

/*
 * The best match of WORD among the subcommands of inspect-internal. HELP lists them; it is LENGTH
 * bytes long and needs no NUL byte. WORD is not empty.
 * Rests on the layout of `btrfs inspect-internal --help`: a subcommand has a line
 * "    btrfs inspect-internal NAME ARGUMENTS". Other lines are ignored.
 */
enum native_match btrfs_progs_help_match(const char *help, size_t length, const char *word);

#endif
