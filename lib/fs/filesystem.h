/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILESYSTEM_H
#define FASTPATH_FILESYSTEM_H

#include <stdint.h>

#define FSID_SIZE 16
/* with the NUL byte */
#define FSID_TEXT_SIZE 37

/*
 * The UUID of the file system of FD. Needs no privilege.
 * Returns 0, or a negative errno (-ENOTTY if the file system is not btrfs).
 * Rests on BTRFS_IOC_FS_INFO.
 */
int filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE]);

/*
 * Open the directory PATH, which has to be on btrfs, with FLAGS as for open(2).
 * Returns a descriptor that the caller closes, or a negative errno (-ENOTTY if the file system is
 * not btrfs, -ENOTDIR, ...).
 */
int filesystem_open_directory(const char *path, int flags);

/*
 * Commit the running transaction of the file system of FD, if there is one, so that the trees on
 * disk have all changes. Dirty data is not written back. Nothing is left to commit where the file system
 * cannot be written to.
 * Returns 0, or a negative errno. Rests on BTRFS_IOC_START_SYNC and BTRFS_IOC_WAIT_SYNC.
 */
int filesystem_commit(int fd);

/*
 * More bytes than anything on the file system of FD can take: what its devices have, as if the data
 * had no copies. UINT64_MAX if it is not known. Rests on fstatfs(2).
 */
uint64_t filesystem_size_limit(int fd);

/* Write the UUID of a file system to TEXT in the form of sysfs, and return TEXT. */
char *filesystem_id_text(char text[FSID_TEXT_SIZE], const uint8_t fsid[FSID_SIZE]);

/* Read such a text. Returns 0; or -EINVAL if TEXT, to its end, is none. */
int filesystem_id_parse(const char *text, uint8_t ret_fsid[FSID_SIZE]);

/*
 * Write the file system of FD back and drop the system's clean page cache, metadata, dentries and
 * inodes. Objects in use stay cached.
 * Returns 0, -EACCES or -EPERM without root, or a negative errno.
 * Rests on /proc/sys/vm/drop_caches.
 */
int drop_caches(int fd);

/*
 * How many copies of the data the file system of FD keeps: 1 with the profiles single and RAID0, 2
 * with DUP, RAID1 and RAID10, 3 or 4 with RAID1C3 and RAID1C4. It is 0 if that is not one number:
 * with parity (RAID5, RAID6), or if block groups of several profiles have data. Needs no privilege.
 * Returns 0, -ENOMEM, -EPROTO, or a negative errno. Rests on BTRFS_IOC_SPACE_INFO.
 */
int data_copies_of(int fd, unsigned int *ret_copies);

#endif
