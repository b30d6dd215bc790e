/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_EXTENTS_H
#define FASTPATH_SEND_EXTENTS_H

#include "fs/file-extent.h"
#include "send/send-stream.h"

struct send_extents;

/*
 * Finds the file extent items that the commands of a stream without data stand for, in the
 * subvolume whose root is FD, which stays the caller's.
 * Returns 0, or a negative errno. Freed with send_extents_free().
 */
int send_extents_new(struct send_extents **ret_extents, int fd);
void send_extents_free(struct send_extents *extents);

/*
 * The item that the part of the file begins in that COMMAND, an update of an extent, is about.
 * Quick for the extents of a file one after the other.
 * Returns 1, 0 if there is none by this name, or a negative errno as tree_search_next().
 */
int send_extents_find(struct send_extents *extents, const struct send_command *command,
		      struct file_extent *ret_extent);

#endif
