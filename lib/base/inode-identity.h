/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INODE_IDENTITY_H
#define FASTPATH_INODE_IDENTITY_H

#include <stdint.h>

/* An inode of a file system, and not a later one of the same number */
struct inode_identity {
	uint64_t inode;
	int64_t birth_s;
	uint32_t birth_ns;
};

/* Of what FD is. Returns 0 or a negative errno. Rests on statx(2). */
int inode_identity_of(int fd, struct inode_identity *ret_identity);

/*
 * Of the mount that FD is on: its id, or before Linux 5.8 that of the device.
 * Returns 0 or a negative errno. Rests on statx(2).
 */
int mount_identity_of(int fd, uint64_t *ret_mount);

#endif
