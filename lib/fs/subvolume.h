/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SUBVOLUME_H
#define FASTPATH_SUBVOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <btrfsutil.h>

#include "fs/filesystem.h"

/*
 * Translates ERROR, the result of a libbtrfsutil call, to a negative errno, or 0. The library sets
 * errno for most errors; set errno to 0 before a call that can fail without setting it.
 */
int subvolume_errno(enum btrfs_util_error error);

/*
 * The id of the subvolume that holds FD. Needs no privilege.
 * Returns 0, or a negative errno (-ENOTTY if the file system is not btrfs).
 * Rests on BTRFS_IOC_INO_LOOKUP through libbtrfsutil.
 */
int subvolume_id_of(int fd, uint64_t *ret_subvolid);

/* Whether a tree with this id is a subvolume, the top level included. */
bool is_subvolume_id(uint64_t id);

/* Whether FD is the root directory of a subvolume: 1, 0, or a negative errno as above. */
int subvolume_is_root(int fd);

/*
 * The transaction of the last snapshot of subvolume SUBVOLID, 0 if there was none.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOENT if there is no such subvolume, -EPROTO.
 * Rests on struct btrfs_root_item, by BTRFS_IOC_TREE_SEARCH_V2.
 */
int subvolume_last_snapshot(int fd, uint64_t subvolid, uint64_t *ret_transaction);

#define SUBVOLUME_UUID_SIZE 16

/* A subvolume in the root tree. UUIDs that it does not have are zero. */
struct subvolume_root {
	uint8_t uuid[SUBVOLUME_UUID_SIZE];
	/* of the subvolume from which this snapshot was taken */
	uint8_t parent_uuid[SUBVOLUME_UUID_SIZE];
	/* the transaction of its last change */
	uint64_t ctransid;
	/* the size of all metadata blocks of its tree; 0 if the item says more than can be */
	uint64_t tree_bytes;
	bool read_only;
};

/*
 * Whether the subvolume that holds FD is read-only. Needs no privilege.
 * Returns 1, 0, or a negative errno. Rests on BTRFS_IOC_GET_SUBVOL_INFO.
 */
int subvolume_is_read_only(int fd);

/*
 * When the subvolume or snapshot that holds FD was created, in nanoseconds since 1970. Needs no privilege.
 * Returns 0, -ENODATA if it is not known, or a negative errno. Rests on BTRFS_IOC_GET_SUBVOL_INFO.
 */
int subvolume_creation_time(int fd, uint64_t *ret_time_ns);

/*
 * When the root directory of subvolume SUBVOLID was created: a snapshot has that of its origin. It is 0 if the
 * kernel did not record it. Errors as subvolume_last_snapshot(). Rests on struct btrfs_inode_item.
 */
int subvolume_root_birth_of(int fd, uint64_t subvolid, uint64_t *ret_time_ns);

/* Look subvolume SUBVOLID up in the root tree. Errors as above. */
int subvolume_root_of(int fd, uint64_t subvolid, struct subvolume_root *ret_root);

/*
 * The ids of the read-only snapshots of subvolume SUBVOLID, also of those that were deleted and are
 * not cleaned up yet, in ascending order: an array that the caller frees, NULL if there are none. Errors as above, and -ENOMEM.
 */
int subvolume_read_only_snapshots(int fd, uint64_t subvolid, uint64_t **ret_ids, size_t *ret_count);

/*
 * The id of the subvolume UUID.
 * Returns 0, -ENOENT if there is none (any more), or as above. Rests on the UUID tree.
 */
int subvolume_find_uuid(int fd, const uint8_t uuid[SUBVOLUME_UUID_SIZE], uint64_t *ret_subvolid);

/* The same for a subvolume that was received, by the UUID that it had where it was sent. */
int subvolume_find_received(int fd, const uint8_t uuid[SUBVOLUME_UUID_SIZE],
			    uint64_t *ret_subvolid);

/*
 * Whether one of two subvolumes is a snapshot of the other, or both are snapshots of a third one,
 * directly or over other snapshots. A chain ends at a subvolume that was deleted.
 * Returns 1, 0, or a negative errno as above.
 */
int subvolumes_are_related(int fd, uint64_t a, uint64_t b);

/*
 * The path of subvolume SUBVOLID from the top level of the file system of FD, "/" for the top
 * level itself. The caller frees it.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOENT (deleted, not yet cleaned up), -ENOMEM, -ELOOP if the
 * backreferences form a loop, -ENAMETOOLONG beyond 256 levels, or -EPROTO if one is damaged.
 * Rests on struct btrfs_root_ref, and on BTRFS_IOC_INO_LOOKUP.
 */
int subvolume_path(int fd, uint64_t subvolid, char **ret_path);

/*
 * Open the root of subvolume SUBVOLID, whose path is PATH, through any mount that contains it. No
 * symbolic link is followed, and no other mount below this one is entered.
 * Returns a descriptor and the directory's path, both for the caller to free, or -ENOENT if no
 * mount contains it.
 * Rests on /proc/self/mountinfo through libmount.
 */
int subvolume_open_mounted(const uint8_t fsid[FSID_SIZE], uint64_t subvolid, const char *path,
			   char **ret_directory);

#endif
