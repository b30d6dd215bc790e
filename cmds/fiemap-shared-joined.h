/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_JOINED_H
#define FASTPATH_FIEMAP_SHARED_JOINED_H

#include "fiemap-shared-scan.h"

/*
 * The figures that join what was read at different times by the addresses of extents: Set shared,
 * Disk, Freed, the groups, and the owners of all files. If the addresses changed meanwhile, the files are looked at
 * again.
 */
struct joined {
	bool has_set_shared;
	uint64_t set_shared_bytes;
	bool has_space;
	struct freed_space space;
	bool has_owners;
	bool has_groups;
	/* of what the figures are made of, and the extents that turned out to be elsewhere */
	uint64_t digest;
	uint64_t moved_count;
};

/* Returns 0 or -ENOMEM; freed with fiemap_shared_joined_release(). */
int fiemap_shared_joined_prepare(struct sharing_scan *scan);
void fiemap_shared_joined_release(struct sharing_scan *scan);

/* Examines the files without a report on each. Returns as files_each(). */
typedef int files_walk(struct sharing_scan *scan);

/*
 * After the walk: finds the figures, with WALK for another look. Where a figure is wanted and
 * cannot be had, prints why.
 */
void fiemap_shared_joined_find(struct sharing_scan *scan, files_walk *walk,
			       struct joined *ret_joined);

/* The same with another walk first. */
void fiemap_shared_joined_find_again(struct sharing_scan *scan, files_walk *walk,
				     struct joined *ret_joined);

#endif
