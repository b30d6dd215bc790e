/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INODE_FLAGS_H
#define FASTPATH_INODE_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/tree-search.h"

/*
 * The flags of an inode on disk (BTRFS_INODE_* of linux/btrfs_tree.h). The flags that decide about
 * writes have names here.
 */
#define INODE_NODATASUM (1u << 0)
#define INODE_NODATACOW (1u << 1)
#define INODE_PREALLOC (1u << 4)
#define INODE_IMMUTABLE (1u << 6)
#define INODE_APPEND (1u << 7)
#define INODE_COMPRESS (1u << 11)

/*
 * Removes the lowest flag with a name from *INODE_FLAGS. Returns the name, or NULL if no flag with
 * a name is left.
 */
const char *inode_flags_take_name(uint32_t *inode_flags);

/*
 * The flags of FD that need no privilege. nodatacow is one of them, nodatasum and prealloc are not.
 * Returns 0, or a negative errno. Rests on FS_IOC_GETFLAGS.
 */
int inode_flags_of(int fd, uint32_t *ret_flags);

/*
 * Decode ITEM, of type BTRFS_INODE_ITEM_KEY. Returns 0, or -EPROTO if it is too short.
 * Rests on struct btrfs_inode_item (linux/btrfs_tree.h).
 */
int inode_flags_parse(const struct tree_item *item, uint32_t *ret_flags);

/*
 * All flags of INODE, the inode of FD. A change of prealloc is visible after the next commit,
 * changes of the other flags at once.
 * Returns 0, or a negative errno as tree_search_next(); -ENOENT if there is no such inode.
 */
int inode_flags_all_of(int fd, uint64_t inode, uint32_t *ret_flags);

/*
 * The flags that at least one of the directories with a name of INODE has, in the subvolume of FD. A
 * directory in which INODE had very many names can be missing. Changes are visible after the next
 * commit. Returns 0, or a negative errno as tree_search_next().
 * Rests on the keys (INODE, BTRFS_INODE_REF_KEY, DIRECTORY).
 */
int inode_flags_of_parents(int fd, uint64_t inode, uint32_t *ret_flags);

/*
 * Make the new and empty file FD NOCOW or not, regardless of what it inherited from its directory;
 * it has no other attribute then. Returns 0, or a negative errno. Rests on FS_IOC_SETFLAGS.
 */
int inode_flags_set_nocow(int fd, bool nocow);

#endif
