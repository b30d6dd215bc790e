/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SUBVOLUME_H
#define FASTPATH_SUBVOLUME_H

#include <stdint.h>

#define FSID_SIZE 16

/*
 * The id of the subvolume that holds FD. Needs no privilege.
 * Returns 0, or a negative errno (-ENOTTY where the file system is not btrfs).
 * Rests on BTRFS_IOC_INO_LOOKUP through libbtrfsutil.
 */
int subvolume_id_of(int fd, uint64_t *ret_subvolid);

/* The UUID of the file system of FD. Errors as above. Rests on BTRFS_IOC_FS_INFO. */
int filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE]);

/*
 * Commit the transaction that is running on the file system of FD, if there is one, so that the
 * trees on disk say what holds in memory. Data that is dirty stays so.
 * Returns 0, or a negative errno. Rests on BTRFS_IOC_START_SYNC and BTRFS_IOC_WAIT_SYNC.
 */
int filesystem_commit(int fd);

/*
 * The transaction of the last snapshot taken of subvolume SUBVOLID, 0 if there was none.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOENT if there is no such subvolume, -EPROTO.
 * Rests on struct btrfs_root_item, by BTRFS_IOC_TREE_SEARCH_V2.
 */
int subvolume_last_snapshot(int fd, uint64_t subvolid, uint64_t *ret_transaction);

/*
 * The path of subvolume SUBVOLID from the top level of the file system of FD, "/" for the top
 * level itself. The caller frees it.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOENT (deleted, not yet cleaned up), -ENOMEM.
 */
int subvolume_path(int fd, uint64_t subvolid, char **ret_path);

/*
 * Open the root of subvolume SUBVOLID, whose path is PATH, through any mount that shows it.
 * Returns a descriptor and the directory, both the caller's, or -ENOENT where no mount does.
 * Rests on /proc/self/mountinfo through libmount.
 */
int subvolume_open_mounted(const uint8_t fsid[FSID_SIZE], uint64_t subvolid, const char *path,
			   char **ret_directory);

#endif
