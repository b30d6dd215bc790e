/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BTRFS_PROGS_HELP_H
#define FASTPATH_BTRFS_PROGS_HELP_H

#include <stddef.h>

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
