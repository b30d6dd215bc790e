/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INODE_NAMES_H
#define FASTPATH_INODE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "fs/tree-search.h"

/* A name of an inode in the directory with inode PARENT. NAME has no NUL byte at its end. */
struct inode_name {
	uint64_t parent;
	const char *name;
	size_t length;
};

/*
 * Decode the name at *POSITION of ITEM and move *POSITION after it.
 * Returns 1, 0 at the end or for an item of another type, or -EPROTO if a name reaches beyond the
 * item. Rests on struct btrfs_inode_ref and struct btrfs_inode_extref (linux/btrfs_tree.h).
 */
int inode_name_parse(const struct tree_item *item, size_t *position, struct inode_name *ret_name);

/*
 * Passes each name of INODE in the subvolume SUBVOLID to TAKE, until it returns a negative errno.
 * Returns 0, what TAKE returned, or a negative errno as tree_range_each().
 */
int inode_names_each(int fd, uint64_t subvolid, uint64_t inode,
		     int (*take)(void *data, const struct inode_name *name), void *data);

#endif
