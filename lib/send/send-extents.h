/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_EXTENTS_H
#define FASTPATH_SEND_EXTENTS_H

#include "fs/file-extent.h"
#include "send/send-stream.h"

struct send_extents;

/*
 * Finds the file extent item for each update of an extent in a stream without data. FD is the root
 * of the subvolume and stays the caller's; PARENT is the id of its parent, 0 for a full send.
 * Returns 0 or -ENOMEM. Freed with send_extents_free().
 */
int send_extents_new(struct send_extents **ret_extents, int fd, uint64_t parent);
void send_extents_free(struct send_extents *extents);

/* Takes each COMMAND of the stream, in order: later ones use the names that it gives. */
void send_extents_follow(struct send_extents *extents, const struct send_command *command);

/*
 * The item that contains the begin of the update of an extent in COMMAND. Fast if the updates of a
 * file come one after the other.
 * Returns 1, 0 if no file of this name has such an item, or a negative errno as
 * tree_search_next().
 */
int send_extents_find(struct send_extents *extents, const struct send_command *command,
		      struct file_extent *ret_extent);

#endif
