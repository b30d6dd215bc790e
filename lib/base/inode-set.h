/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INODE_SET_H
#define FASTPATH_INODE_SET_H

#include <sys/types.h>

struct inode_set;

/* A set of files. Returns 0 or -ENOMEM; freed with inode_set_free(). */
int inode_set_new(struct inode_set **ret_set);
void inode_set_free(struct inode_set *set);

/* Returns 1 if the file was added, 0 if it was there already, or -ENOMEM. */
int inode_set_add(struct inode_set *set, dev_t device, ino_t inode);

#endif
