/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_INODES_H
#define FASTPATH_SEND_INODES_H

#include <stdint.h>

#include "send/send-stream.h"

struct send_inodes;

/*
 * Finds the inode of a file whose extents a stream updates. The names in a stream are those of the
 * moment: a file or a directory has a temporary name until its parent exists, and a directory that
 * is renamed later has the name from PARENT, the id of the parent subvolume (0: none). FD is the
 * root of the subvolume that is sent, and stays the caller's.
 * Returns 0 or -ENOMEM. Freed with send_inodes_free().
 * Rests on process_recorded_refs() and gen_unique_name() (fs/btrfs/send.c).
 */
int send_inodes_new(struct send_inodes **ret_inodes, int fd, uint64_t parent);
void send_inodes_free(struct send_inodes *inodes);

/* Takes each COMMAND of the stream, in order. */
void send_inodes_follow(struct send_inodes *inodes, const struct send_command *command);

/*
 * The inode that has PATH now.
 * Returns 1, 0 if it is unknown, or a negative errno as tree_batch_fetch().
 */
int send_inodes_find(struct send_inodes *inodes, const char *path, uint64_t *ret_inode);

/* The size of the file INODE in the subvolume that is sent. Returns 1, 0 if it is not there, or as above. */
int send_inodes_size(struct send_inodes *inodes, uint64_t inode, uint64_t *ret_size);

#endif
