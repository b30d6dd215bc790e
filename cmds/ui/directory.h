/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DIRECTORY_H
#define FASTPATH_DIRECTORY_H

/*
 * Opens the directory PATH. Returns a descriptor that the caller closes; or a negative errno after
 * printing an error: -ENOTTY if PATH is not on btrfs.
 */
int directory_open(const char *path);

/* The same for making files in it: without read permission it is opened with O_PATH. */
int directory_open_to_write(const char *path);

/*
 * Drops all caches for --cold, as drop_caches() does. Returns 1; 0 after printing an error if the
 * privilege is missing; or a negative errno.
 */
int cold_drop_caches(int fd);

#endif
