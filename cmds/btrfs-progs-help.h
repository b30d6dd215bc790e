/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BTRFS_PROGS_HELP_H
#define FASTPATH_BTRFS_PROGS_HELP_H

#include <stddef.h>

/* Ordered: a better match is greater. */
enum native_match { NATIVE_NONE, NATIVE_PREFIX, NATIVE_EXACT };

/*
 * How WORD, not empty, matches the subcommands of inspect-internal that HELP lists, LENGTH bytes
 * that need no end: the best of what each of them says.
 * Rests on the layout of `btrfs inspect-internal --help`: a subcommand has a line
 * "    btrfs inspect-internal NAME ARGUMENTS". Any other line says nothing.
 */
enum native_match btrfs_progs_help_match(const char *help, size_t length, const char *word);

#endif
