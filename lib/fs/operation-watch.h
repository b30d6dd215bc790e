/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPERATION_WATCH_H
#define FASTPATH_OPERATION_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/sysfs-attribute.h"

/* What exclusive_operation and generation in sysfs say; "" in kernels without them. */
struct operation_state {
	char operation[SYSFS_ATTRIBUTE_SIZE];
	char generation[SYSFS_ATTRIBUTE_SIZE];
};

/* Whether a balance, a device removal or a resize moves extents of a file system from a moment on. */
struct operation_watch {
	/* NULL for /sys/fs/btrfs */
	const char *sysfs;
	uint8_t fsid[FSID_SIZE];
	/* ready when an operation has ended, until it is read again; -1 in kernels without it */
	int ended_fd;
	struct operation_state begin;
};

/*
 * Begins at this moment, on the file system FSID. Ended with operation_watch_end().
 * Rests on exclusive_operation (Linux 5.10) and generation (Linux 5.11) in sysfs.
 */
void operation_watch_begin(struct operation_watch *watch, const char *sysfs,
			   const uint8_t fsid[FSID_SIZE]);
void operation_watch_end(struct operation_watch *watch);

/*
 * Whether something moved extents since the begin, or may have done so. The operation of *RET_NOW
 * becomes the one that did, if it is known.
 */
bool operation_watch_may_have_moved(const struct operation_watch *watch,
				    struct operation_state *ret_now);

/* Other operations change or add devices, and leave the extents where they are. */
bool operation_moves_extents(const char *operation);

#endif
