/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_OWNERS_H
#define FASTPATH_FIEMAP_SHARED_OWNERS_H

#include "fiemap-shared-scan.h"
#include "fs/file-look.h"

/* The file whose owners are looked up. */
struct owned_file {
	const char *path;
	int fd;
	struct extent_owners *owners;
	struct file_look look;
	/* begins another look, and replaces the extents by those that the file has now */
	int (*map_again)(void *data);
	void *data;
};

/*
 * Finds the owners of the extents of FILE, and reports them. If the extents cannot be sorted, or if data
 * is moved during each look, prints why and returns 0, because the rest of the report is still useful.
 * Returns 0, or a negative errno as extent_owners_resolve(), owner_names_find() and MAP_AGAIN.
 */
int fiemap_shared_report_owners(struct sharing_scan *scan, struct owned_file *file);

/*
 * Whether the owners of the file PATH, which is open as FD, can be summarized with those of the files
 * before it: 1, 0 if it is on another file system, after printing an error, or a negative errno.
 */
int fiemap_shared_can_add_owners(struct sharing_scan *scan, int fd, const char *path);

/*
 * Finds the owners of all files by subvolume. Returns false if they are unknown, after printing an
 * error unless there was one, or not asked for.
 */
bool fiemap_shared_resolve_owner_summary(struct sharing_scan *scan);

/* Reports them, if they are KNOWN. Returns 0, or a negative errno of the reporter. */
int fiemap_shared_report_owner_summary(struct sharing_scan *scan, bool known);

#endif
