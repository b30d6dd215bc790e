/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_STEADY_LOOK_H
#define FASTPATH_STEADY_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/relocation-watch.h"
#include "fs/sysfs-attribute.h"

/*
 * A look at file systems collects addresses of extents, and then compares them or asks who refers to
 * them. That is only right if the addresses and the references stay the same from its begin to its
 * end.
 */

enum steadiness {
	LOOK_STEADY,
	/* files or subvolumes changed: the look may mix two states. A second look with the same result
	 * shows that it does not. */
	LOOK_CHANGED,
	/* a balance, a device removal or a resize moved extents, or may have done so while it was not
	 * watched: every look can be wrong in the same way */
	LOOK_MOVING,
};

struct look_outcome {
	enum steadiness steadiness;
	/*
	 * Something moved extents: then FIEMAP may have taken the copy of an extent, which is in no file yet
	 * or any more, for another file.
	 */
	bool has_moved;
	/* what does so, or did so at the begin, as sysfs names it; "" if nothing does, or it is over */
	char operation[SYSFS_ATTRIBUTE_SIZE];
};

struct steady_look;

enum look_purpose {
	/* addresses are compared: the list of the subvolumes counts, and all that moves extents */
	LOOK_FOR_ADDRESSES,
	/* the same, but references to all extents are looked up at last, with steady_look_watch(),
	 * which shows the extents that are elsewhere by now */
	LOOK_FOR_EXTENTS,
	/* a change in any subvolume counts, too, and running transactions are committed at the begin
	 * and at the end */
	LOOK_FOR_REFERENCES,
};

/*
 * SYSFS is NULL for /sys/fs/btrfs. Returns 0 or -ENOMEM; freed with steady_look_free().
 */
int steady_look_new(struct steady_look **ret_look, const char *sysfs, enum look_purpose purpose);
void steady_look_free(struct steady_look *look);

/*
 * Begins the look at the file system of FD, which is on DEVICE, unless it has begun. It has to be called
 * before anything is read from FD, from any thread. Without CAP_SYS_ADMIN the outcome is LOOK_CHANGED
 * unless the number of the last transaction can be read and stays the same. *RET_WATCH is what FIEMAP needs
 * there, as steady_look_watch().
 * Returns 0, or a negative errno as filesystem_id_of() and tree_range_next().
 * Rests on struct btrfs_root_item, and on exclusive_operation (Linux 5.10) and generation
 * (Linux 5.11) in sysfs.
 */
int steady_look_add(struct steady_look *look, int fd, dev_t device,
		    struct relocation_watch **ret_watch);

/* For lookups in the file system FSID; NULL if nothing moved extents at the begin. It is the look's. */
struct relocation_watch *steady_look_watch(const struct steady_look *look,
					   const uint8_t fsid[FSID_SIZE]);

/* Waits for a good moment to look again; see relocation_watch_await_merge(). */
void steady_look_await_merge(const struct steady_look *look);

/* Ends the look at all of them. Errors as steady_look_add(); also if one of them could not begin. */
int steady_look_end(struct steady_look *look, struct look_outcome *ret_outcome);

#endif
