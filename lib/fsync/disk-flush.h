/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DISK_FLUSH_H
#define FASTPATH_DISK_FLUSH_H

#include <stdint.h>

#include "fsync/fsync-exercise.h"

/*
 * How long the disks of a file system take for the least that an fsync needs: a write of the data and
 * log, and one of the superblock, each followed by a flush of the disk's cache. btrfs is hardly involved:
 * a file is written in place with O_DIRECT, and the devices are flushed themselves.
 */
struct disk_flush;

#define DISK_FLUSH_SIZE_MAX (64 << 20)

/*
 * DIRECTORY_FD is a directory on btrfs, in which a file of DATA_SIZE bytes without a name is made, of
 * at least one block. The devices are opened for reading. Returns 0 or a negative errno: -EACCES or
 * -EPERM if this user may not read a device; -ENODEV if one is missing; -ENOTBLK if its name is that
 * of something else; -E2BIG with very many; -EFBIG if DATA_SIZE is above DISK_FLUSH_SIZE_MAX.
 * Freed with disk_flush_free(), which accepts NULL.
 * Rests on BTRFS_IOC_DEV_INFO, O_TMPFILE, and fsync of a block device, which is a flush.
 */
int disk_flush_new(struct disk_flush **ret_flush, int directory_fd, uint64_t data_size);
void disk_flush_free(struct disk_flush *flush);

/*
 * Write and flush as for FSYNCS fsyncs; only the first one has data. Several devices count as the
 * slowest one, because btrfs flushes them in parallel. Returns 0, or a negative errno as pwrite(2) or fsync(2).
 */
int disk_flush_time(const struct disk_flush *flush, int fsyncs, uint64_t *ret_nanoseconds);

/* Where the time of fsyncs went. The three parts add up to it. */
struct fsync_parts {
	/* the time of the disk alone for each fsync, at most the time of the fsyncs */
	uint64_t disk_ns;
	/* the other time of fsyncs that wrote the log, and of the others */
	uint64_t log_ns;
	uint64_t commit_ns;
};

/* SUMS are those of each kind; the disk alone needs DISK_NS for an fsync. */
struct fsync_parts fsync_parts_of(const struct fsync_kind_sums sums[FSYNC_KINDS], uint64_t disk_ns);

#endif
