/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DIRECTORY_H
#define FASTPATH_DIRECTORY_H

/*
 * Opens the directory PATH on btrfs. Returns a descriptor, which is the caller's; or a negative
 * errno, and complains: -ENOTTY where it is not on btrfs.
 */
int directory_open(const char *path);

/* The same, to make files in it: one that may not be read is opened with O_PATH. */
int directory_open_to_write(const char *path);

#endif
