/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RELOCATION_WATCH_H
#define FASTPATH_RELOCATION_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/filesystem.h"
#include "fs/sysfs-attribute.h"

struct relocation_watch;

/*
 * A balance, a device removal or a resize relocates one block group after the other. At the end of each
 * it merges the changed copy of every subvolume's tree, one after the other: until then one subvolume
 * refers to the new place of an extent and another one to the old place, so that the references to
 * both are incomplete. The watch finds a moment without that, on the file system FSID of FD, which stays
 * the caller's. SYSFS is NULL for /sys/fs/btrfs.
 * Returns 0 or -ENOMEM; freed with relocation_watch_free().
 */
int relocation_watch_new(struct relocation_watch **ret_watch, const char *sysfs, int fd,
			 const uint8_t fsid[FSID_SIZE]);
void relocation_watch_free(struct relocation_watch *watch);

/* Such a moment. It begins as zeros, and stays valid as long as no copy comes after it. */
struct relocation_mark {
	bool is_valid;
	char generation[SYSFS_ATTRIBUTE_SIZE];
};

/*
 * Waits until no copy of a tree is left to merge, unless MARK is valid. After 5 seconds in all, or if the
 * number of the last transaction cannot be read, the watch has failed, and does not wait any more. Does
 * nothing if WATCH is NULL. Safe to call from several threads.
 * Returns 0, or a negative errno as tree_batch_fetch().
 * Rests on the root items of relocation trees (fs/btrfs/relocation.c), which last longer than a
 * transaction.
 */
int relocation_watch_begin(struct relocation_watch *watch, struct relocation_mark *mark);

/*
 * Whether there was no copy since MARK, so that what was read meanwhile is right. True if the watch has
 * failed, or WATCH is NULL. A commit counts as a possible copy; the watch fails after 100 of them in a row,
 * because other programs may commit all the time.
 */
bool relocation_watch_holds(struct relocation_watch *watch, struct relocation_mark *mark);

bool relocation_watch_has_failed(const struct relocation_watch *watch);

/*
 * Waits until the next copies were merged, but not longer than half a second: from then on extents stay
 * where they are for as long as possible.
 */
void relocation_watch_await_merge(const struct relocation_watch *watch);

/* Whether a copy of a tree is left to merge now: 1, 0, or a negative errno. */
int relocation_is_merging(int fd);

#endif
