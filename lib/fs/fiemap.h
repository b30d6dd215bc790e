/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_H
#define FASTPATH_FIEMAP_H

#include <stddef.h>
#include <stdint.h>

#include <linux/fiemap.h>

#include "fs/relocation-watch.h"
#include "num/byte-range.h"
#include "sys/cleanup.h"

/* One extent of a file as FS_IOC_FIEMAP reports it. Offsets and lengths in bytes. */
struct mapped_extent {
	uint64_t offset;
	/* btrfs' logical address; 0 if there is none (delalloc, inline) */
	uint64_t bytenr;
	uint64_t length;
	/* FIEMAP_EXTENT_* */
	uint32_t flags;
};

/*
 * Check the kernel's answer to one FS_IOC_FIEMAP call before any of it is used.
 * BUFFER holds a struct fiemap with its extents, SIZE bytes in all.
 * Returns 0, or -EPROTO: more extents than the buffer holds, an extent that
 * overflows, or extents that overlap or are out of order.
 * Rests on Documentation/filesystems/fiemap.rst.
 */
int fiemap_check_answer(const void *buffer, size_t size);

struct fiemap_iter;

/*
 * A reusable iterator. Its memory does not depend on the number of extents.
 * Returns 0, or -ENOMEM. The caller frees it with fiemap_iter_free().
 */
int fiemap_iter_new(struct fiemap_iter **ret_iter);
void fiemap_iter_free(struct fiemap_iter *iter);
DEFINE_FREEP(fiemap_iter_free, struct fiemap_iter)

/*
 * Start over with the extents of FD that touch RANGE. FD stays the caller's.
 * FIEMAP_FLAGS are FIEMAP_FLAG_*.
 */
void fiemap_iter_start(struct fiemap_iter *iter, int fd, struct byte_range range,
		       uint32_t fiemap_flags);

/* Repeat calls that a relocation disturbs. WATCH can be NULL, as it is at first. */
void fiemap_iter_watch(struct fiemap_iter *iter, struct relocation_watch *watch);

/*
 * The next extent, in ascending order and never overlapping the one before.
 * An extent is cut where an earlier one already covered its start, which happens
 * when the file changes between two calls; extents of length 0 are left out.
 * Extents are not cut to the range (see mapped_extent_clip()).
 *
 * Returns 1 with an extent; 0 at the end, and also for a range after the largest file size of the
 * file system, for which the kernel returns EFBIG; or a negative errno: -EOPNOTSUPP or -ENOTTY if
 * the file system has no FIEMAP, -EPROTO for an answer that is invalid, makes no progress or has an
 * extent that is larger than the file system, or the
 * errno of the ioctl.
 * Rests on FS_IOC_FIEMAP (fs/ioctl.c, fs/btrfs/fiemap.c; before 6.9 extent_io.c).
 */
int fiemap_iter_next(struct fiemap_iter *iter, struct mapped_extent *ret_extent);

/* FS_IOC_FIEMAP calls made since fiemap_iter_start(). */
uint64_t fiemap_iter_calls(const struct fiemap_iter *iter);

/*
 * Count the extents of FD that touch RANGE, with a call that has no room for them. For such a call
 * the kernel maps the file but skips the check for shared extents.
 * Returns 0, or a negative errno as fiemap_iter_next().
 */
int fiemap_count(int fd, struct byte_range range, uint32_t *ret_count);

/*
 * Write back the data of FD, so that the trees have its extents, too.
 * Returns 0 or a negative errno. Rests on FIEMAP_FLAG_SYNC, which writes back the whole file.
 */
int fiemap_sync(int fd);

/*
 * Cut EXTENT to RANGE. The bytenr moves with the start, except for encoded
 * (compressed) extents, whose bytes have no address of their own. An extent that is cut at its end
 * loses the flag of the last extent.
 * Returns 1, or 0 if nothing is left of it (then EXTENT is unchanged).
 */
int mapped_extent_clip(struct mapped_extent *extent, struct byte_range range);

#endif
