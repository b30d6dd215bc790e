/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SYSFS_ATTRIBUTE_H
#define FASTPATH_SYSFS_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/filesystem.h"

#define SYSFS_ATTRIBUTE_SIZE 32

/*
 * The path of NAME of the file system FSID in SYSFS, NULL for /sys/fs/btrfs. Returns NULL without
 * memory; the caller frees it.
 */
char *sysfs_path_of(const char *sysfs, const uint8_t fsid[FSID_SIZE], const char *name);

/*
 * Open the file NAME of the file system FSID in SYSFS, NULL for /sys/fs/btrfs. Returns a descriptor,
 * or -1 if this kernel has no such file.
 */
int sysfs_attribute_open(const char *sysfs, const uint8_t fsid[FSID_SIZE], const char *name);

/* Read its line, without the end, cut to the size of TEXT; "" if FD is -1. */
void sysfs_attribute_read(int fd, char text[SYSFS_ATTRIBUTE_SIZE]);

/* The same with the file opened and closed again, so that an event for poll() is left to others. */
void sysfs_attribute_get(const char *sysfs, const uint8_t fsid[FSID_SIZE], const char *name,
			 char text[SYSFS_ATTRIBUTE_SIZE]);

/* Whether a line stayed the same. One that could not be read is not known to. */
bool sysfs_attribute_is_same(const char *before, const char *after);

#endif
