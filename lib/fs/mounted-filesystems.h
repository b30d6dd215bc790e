/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MOUNTED_FILESYSTEMS_H
#define FASTPATH_MOUNTED_FILESYSTEMS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"

/* The file systems that the kernel has mounted, wherever their mount points are. */
struct mounted_filesystems {
	size_t count;
	uint8_t (*fsids)[FSID_SIZE];
};

/*
 * List them, sorted by their UUIDs. ROOT replaces /sys/fs/btrfs if it is not NULL; a ROOT that does
 * not exist, as while btrfs is not loaded, has none. Freed with mounted_filesystems_free().
 * Returns 0 or a negative errno.
 */
int mounted_filesystems_read(const char *root, struct mounted_filesystems *ret_filesystems);
void mounted_filesystems_free(struct mounted_filesystems *filesystems);

#endif
