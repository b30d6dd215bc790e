/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_IMAGE_INODE_FLAGS_H
#define FASTPATH_IMAGE_INODE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"

/*
 * Flags of inodes that no call would set, in a file system that is not mounted.
 */

/*
 * Add FLAGS, as in inode-flags.h, to those of INODE of subvolume TREE_ID in LEAF, a block of SIZE
 * bytes, and sum it anew. Returns whether it was found; false, too, for what is no leaf of this
 * subvolume in the file system FSID, or has a wrong checksum.
 * Rests on struct btrfs_header, btrfs_item and btrfs_inode_item.
 */
bool image_inode_flags_edit_leaf(void *leaf, size_t size, const uint8_t fsid[FSID_SIZE],
				 uint64_t tree_id, uint64_t inode, uint64_t flags);

/*
 * The same wherever IMAGE_FD, an image of a btrfs of one device with CRC-32C for metadata, has such
 * a leaf, the current one or an older one.
 * Returns 0, -ENOENT if there was none, -EPROTO for another file system, or a negative errno.
 */
int image_inode_flags_edit(int image_fd, uint64_t tree_id, uint64_t inode, uint64_t flags);

#endif
