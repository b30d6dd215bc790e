/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_UNIQUE_SHARED_BYTES_H
#define FASTPATH_UNIQUE_SHARED_BYTES_H

#include <stdint.h>

#include "fs/fiemap.h"

struct unique_shared_bytes;

/*
 * The set of shared bytes of any number of files: a byte of the file system that several of
 * their extents refer to counts once. Memory is bounded (see record-sort.h).
 * Safe to add to from several threads.
 * Returns 0 or -ENOMEM; freed with unique_shared_bytes_free().
 */
int unique_shared_bytes_new(struct unique_shared_bytes **ret_set);
void unique_shared_bytes_free(struct unique_shared_bytes *set);

/*
 * Add EXTENT, which is shared.
 * Returns 0, or -EPROTO if bytenr + length overflows. unique_shared_bytes_total() returns other
 * errors of this function.
 */
int unique_shared_bytes_add(struct unique_shared_bytes *set, const struct mapped_extent *extent);

/*
 * The number of bytes in the set. After this nothing can be added.
 * As in btrfs filesystem du, a compressed extent counts from its bytenr with its length in the
 * file, because FIEMAP does not report its length on disk.
 * Returns 0, or a negative errno as record_sort_finish() and record_sort_next().
 */
int unique_shared_bytes_total(struct unique_shared_bytes *set, uint64_t *ret_bytes);

/* As record_sort_failed_in(), after unique_shared_bytes_total() has failed. */
const char *unique_shared_bytes_failed_in(const struct unique_shared_bytes *set);

#endif
