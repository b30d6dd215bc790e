/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_EXTENTS_H
#define FASTPATH_SEND_EXTENTS_H

#include "fs/file-extent.h"
#include "send/send-stream.h"

struct send_extents;

/*
 * What the updates of extents in a stream without data do not say. FD is the root of the subvolume and stays
 * the caller's; PARENT is the id of its parent, 0 for a full send. If it IS_COMPRESSED, data is sent as it is
 * on disk.
 * Returns 0 or -ENOMEM. Freed with send_extents_free().
 */
int send_extents_new(struct send_extents **ret_extents, int fd, uint64_t parent,
		     bool is_compressed);
void send_extents_free(struct send_extents *extents);

/* Takes each COMMAND of the stream, in order: later ones use the names that it gives. */
void send_extents_follow(struct send_extents *extents, const struct send_command *command);

/*
 * The item that contains the begin of the update of an extent in COMMAND, if it IS_COMPRESSED, and the length
 * of the update: kernels name only the low 32 bits of that of a hole, which an incremental stream can have.
 * Fast if the updates of a file come one after the other.
 * Returns 1, 0 if there is no item, -ENODATA if the length is not known, or a negative errno as
 * tree_search_next().
 * Rests on send_hole() and send_update_extent() (fs/btrfs/send.c).
 */
int send_extents_find(struct send_extents *extents, const struct send_command *command,
		      struct file_extent *ret_extent, uint64_t *ret_length);

#endif
