/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_OWNERS_H
#define FASTPATH_FIEMAP_SHARED_OWNERS_H

#include "fiemap-shared.h"

/*
 * Finds the owners of the extents in OWNERS, and reports them. The extents belong to the file PATH,
 * which is open as FD. If the extents cannot be sorted, prints an error and returns 0, because the
 * rest of the report is still useful.
 * Returns 0, or a negative errno as extent_owners_resolve() and owner_names_find().
 */
int fiemap_shared_report_owners(struct scan *scan, struct extent_owners *owners, int fd,
				const char *path);

#endif
