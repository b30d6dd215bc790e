/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_OWNERS_H
#define FASTPATH_FIEMAP_SHARED_OWNERS_H

#include "fiemap-shared.h"

/*
 * Finds out who holds what was added to OWNERS, of the file PATH, open as FD, and reports them.
 * Complains if the extents cannot be sorted, and returns 0: the rest of the report is of use.
 * Returns 0, or a negative errno as extent_owners_resolve() and owner_names_find().
 */
int fiemap_shared_report_owners(struct scan *scan, struct extent_owners *owners, int fd,
				const char *path);

#endif
