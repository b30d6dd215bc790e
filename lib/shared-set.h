/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SHARED_SET_H
#define FASTPATH_SHARED_SET_H

#include <stdint.h>

#include "fiemap.h"

struct shared_set;

/*
 * The set of shared bytes of any number of files: a byte of the file system that several of
 * their extents refer to counts once. Memory is bounded (see record-sort.h).
 * Safe to add to from several threads.
 * Returns 0 or -ENOMEM; freed with shared_set_free().
 */
int shared_set_new(struct shared_set **ret_set);
void shared_set_free(struct shared_set *set);
void shared_set_freep(struct shared_set **set);

/*
 * Add EXTENT, which the caller found to be shared.
 * Returns 0, or -EPROTO if bytenr + length overflows. If there is no room, shared_set_bytes()
 * tells.
 */
int shared_set_add(struct shared_set *set, const struct mapped_extent *extent);

/*
 * How many bytes the set holds; nothing can be added afterwards.
 * As in btrfs filesystem du, a compressed extent counts from its bytenr on with the length
 * that it has in the file, since FIEMAP does not tell the one on disk.
 * Returns 0, or a negative errno as record_sort_finish() and record_sort_next().
 */
int shared_set_bytes(struct shared_set *set, uint64_t *ret_bytes);

/* As record_sort_failed_in(), after shared_set_bytes() has failed. */
const char *shared_set_failed_in(const struct shared_set *set);

#endif
