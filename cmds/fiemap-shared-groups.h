/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_GROUPS_H
#define FASTPATH_FIEMAP_SHARED_GROUPS_H

#include "fiemap-shared-scan.h"

/* --groups: the sets of files that share data with each other. */

/* Returns whether the groups were found; else an error was printed. */
bool fiemap_shared_find_groups(struct sharing_scan *scan);

/*
 * Prints them, in the array "groups" of JSON, which is null unless they are KNOWN. Returns 0 or a
 * negative errno.
 */
int fiemap_shared_report_groups(struct sharing_scan *scan, bool known);

#endif
