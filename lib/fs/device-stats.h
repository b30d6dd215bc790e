/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DEVICE_STATS_H
#define FASTPATH_DEVICE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"

/* What block devices did since they are there; several of them added up. */
struct device_stats {
	uint64_t reads;
	uint64_t read_bytes;
	/* how long each read took, added up: two seconds where two are under way for a second */
	uint64_t read_ns;
	/* how long anything was under way */
	uint64_t busy_ns;
	/* reads and writes that are under way now */
	uint64_t in_flight;
	unsigned int device_count;
};

/*
 * Parse the SIZE bytes of TEXT, a block device's "stat" file; DEVICE_COUNT is 1.
 * Returns 0, or -EPROTO. Rests on Documentation/block/stat.rst.
 */
int device_stats_parse(const char *text, size_t size, struct device_stats *ret_stats);

/*
 * Read those of all devices of the file system FSID from ROOT/FSID/devices; ROOT NULL means
 * /sys/fs/btrfs. Returns 0, -ENOENT where sysfs does not show them, -EPROTO, or the errno.
 */
int device_stats_read(const char *root, const uint8_t fsid[FSID_SIZE],
		      struct device_stats *ret_stats);

/* What was done from BEFORE to AFTER; what is under way is AFTER's. */
struct device_stats device_stats_subtract(const struct device_stats *after,
					  const struct device_stats *before);

#endif
