/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WITHOUT_SNAPSHOTS_H
#define FASTPATH_WITHOUT_SNAPSHOTS_H

#include <stdint.h>

#include "sharing/sharing.h"

/* The data that would be shared if a subvolume had no read-only snapshots. It belongs to one thread. */
struct without_snapshots;

/* Returns 0 or -ENOMEM; freed with without_snapshots_free(). */
int without_snapshots_new(struct without_snapshots **ret_without);
void without_snapshots_free(struct without_snapshots *without);

/*
 * As sharing_of_file() for the file FD with the inode INODE, but read-only snapshots of its
 * subvolume, and of no other one, do not count as owners. An extent of the file map counts as
 * shared if any part of it is.
 * Returns 0; -EAGAIN if extents were moved meanwhile, so that owners may be missing; -EPERM without
 * CAP_SYS_ADMIN; or a negative errno as sharing_of_file(), backref_query_extent() and
 * tree_search_next().
 */
int sharing_without_snapshots(struct without_snapshots *without, struct fiemap_iter *iter, int fd,
			      uint64_t inode, struct byte_range range, uint32_t fiemap_flags,
			      struct unique_shared_bytes *set, struct sharing *ret_sharing);

#endif
