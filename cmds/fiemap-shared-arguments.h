/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_ARGUMENTS_H
#define FASTPATH_FIEMAP_SHARED_ARGUMENTS_H

#include "fiemap-shared-scan.h"

/* With --summarize: a row for each path on the command line. */

/* New sums for the paths, which the caller frees; NULL if they have no row. Returns 0 or -ENOMEM. */
int fiemap_shared_argument_sums_new(const struct sharing_options *arguments,
				    struct sharing **ret_sums);

/* Sorts the paths for --sort age or path, before they are walked. Returns 0 or -ENOMEM. */
int fiemap_shared_sort_arguments(const struct sharing_options *arguments);

/*
 * Sorts the paths and their SUMS for --sort freed, by what SET has found.
 * Returns 1 if the order is another one than before, 0, or -ENOMEM.
 */
int fiemap_shared_sort_arguments_by_freed(const struct sharing_options *arguments,
					  const struct named_set *set, struct sharing *sums);

#endif
