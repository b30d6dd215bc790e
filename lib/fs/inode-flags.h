/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INODE_FLAGS_H
#define FASTPATH_INODE_FLAGS_H

#include <stdint.h>

#include "fs/tree-search.h"

/*
 * The flags of an inode as they are on disk (BTRFS_INODE_* of linux/btrfs_tree.h), those that
 * decide about writes by name here.
 */
#define INODE_NODATASUM (1u << 0)
#define INODE_NODATACOW (1u << 1)
#define INODE_PREALLOC (1u << 4)

/*
 * Takes the lowest flag that has a name out of *INODE_FLAGS. Returns the name; NULL if only flags
 * without one are left.
 */
const char *inode_flags_take_name(uint32_t *inode_flags);

/*
 * Those flags of FD that anybody may ask for, nodatacow among them, nodatasum and prealloc not.
 * Returns 0, or a negative errno. Rests on FS_IOC_GETFLAGS.
 */
int inode_flags_of(int fd, uint32_t *ret_flags);

/*
 * Decode ITEM, of type BTRFS_INODE_ITEM_KEY. Returns 0, or -EPROTO if it is too short.
 * Rests on struct btrfs_inode_item (linux/btrfs_tree.h).
 */
int inode_flags_parse(const struct tree_item *item, uint32_t *ret_flags);

/*
 * All flags of INODE, which FD is open on. A change of prealloc gets to the tree with the next
 * commit, that of the others is seen at once.
 * Returns 0, or a negative errno as tree_search_next(); -ENOENT where there is no such inode.
 */
int inode_flags_all_of(int fd, uint64_t inode, uint32_t *ret_flags);

#endif
