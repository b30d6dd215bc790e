/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DEVICE_STATS_H
#define FASTPATH_DEVICE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"

/* The statistics of block devices since they were added, as the sum over several devices. */
struct device_stats {
	uint64_t reads;
	uint64_t read_bytes;
	/* the sum of the times of all reads: two reads in flight for one second are two seconds */
	uint64_t read_ns;
	/* the time in which at least one request was in flight */
	uint64_t busy_ns;
	/* the number of reads and writes in flight now */
	uint64_t in_flight;
	uint64_t device_count;
};

/*
 * Parse the SIZE bytes of TEXT, a block device's "stat" file; DEVICE_COUNT is 1.
 * Returns 0, or -EPROTO. Rests on Documentation/block/stat.rst.
 */
int device_stats_parse(const char *text, size_t size, struct device_stats *ret_stats);

/*
 * Read those of all devices of the file system FSID from ROOT/FSID/devices; ROOT NULL means
 * /sys/fs/btrfs. Returns 0, -ENOENT if sysfs does not have them, -EPROTO, or a negative errno.
 */
int device_stats_read(const char *root, const uint8_t fsid[FSID_SIZE],
		      struct device_stats *ret_stats);

/* The changes from BEFORE to AFTER; in_flight is that of AFTER. */
struct device_stats device_stats_subtract(const struct device_stats *after,
					  const struct device_stats *before);

#endif
