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

/*
 * Whether the owners of the file PATH, which is open as FD, can be summarized with those of the files
 * before it: 1, 0 if it is on another file system, after printing an error, or a negative errno.
 */
int fiemap_shared_can_add_owners(struct scan *scan, int fd, const char *path);

/*
 * Reports the owners of all files by subvolume. If they are unknown, prints an error unless there was
 * one. Returns 0, or a negative errno of the reporter.
 */
int fiemap_shared_report_owner_summary(struct scan *scan);

#endif
