/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_IMAGE_INODE_FLAGS_H
#define FASTPATH_IMAGE_INODE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"

/*
 * Sets inode flags that no system call can set, in a file system that is not mounted.
 */

/*
 * Add FLAGS, as in inode-flags.h, to those of INODE in LEAF, a block of SIZE bytes, and update its
 * checksum. Returns true if LEAF has the inode; false also if the block is not a leaf of the
 * subvolume TREE_ID in the file system FSID, or has a wrong checksum.
 * Rests on struct btrfs_header, btrfs_item and btrfs_inode_item.
 */
bool image_inode_flags_edit_leaf(void *leaf, size_t size, const uint8_t fsid[FSID_SIZE],
				 uint64_t tree_id, uint64_t inode, uint64_t flags);

/*
 * The same for each such leaf, current or older, in IMAGE_FD, an image of a btrfs with one device
 * and the checksum CRC-32C.
 * Returns 0, -ENOENT if there was none, -EPROTO for another file system, or a negative errno.
 */
int image_inode_flags_edit(int image_fd, uint64_t tree_id, uint64_t inode, uint64_t flags);

#endif
