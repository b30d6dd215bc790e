/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FRAGMENTS_H
#define FASTPATH_FRAGMENTS_H

#include <stdint.h>

#include "fs/fiemap.h"
#include "sharing/sharing.h"

/*
 * Set the fragments in SHARING, those of the file FD with the inode INODE:
 * - the pieces, each at consecutive addresses on disk; a compressed extent is one, whatever its parts;
 * - the waste: the bytes on disk that the file does not read, in data extents that only it refers to.
 *   A compressed extent wastes the same share of its bytes;
 * - the size on disk of a copy by cp(1) that shares nothing. It is exact unless the copy is compressed in
 *   another way, or cp finds zeros in the data of a sparse file.
 * FIEMAP_FLAGS are FIEMAP_FLAG_*; ITER is used for that. Memory is bounded (see record-sort.h).
 * Returns 0, -EPERM without CAP_SYS_ADMIN, or a negative errno as fiemap_iter_next(), tree_search_next() and
 * record_sort_finish().
 */
int fragments_add(struct fiemap_iter *iter, int fd, uint64_t inode, uint32_t fiemap_flags,
		  struct sharing *sharing);

#endif
