/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_INODE_IDENTITY_H
#define FASTPATH_INODE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* An inode of a file system, and not a later one of the same number */
struct inode_identity {
	uint64_t inode;
	int64_t birth_s;
	uint32_t birth_ns;
};

/* Of what FD is. Returns 0 or a negative errno. Rests on statx(2). */
int inode_identity_of(int fd, struct inode_identity *ret_identity);

/*
 * Of the mount that FD is on: its id, or before Linux 5.8 that of the device.
 * Returns 0 or a negative errno. Rests on statx(2).
 */
int mount_identity_of(int fd, uint64_t *ret_mount);

/*
 * Whether NAME in DIRECTORY is a name of INODE of DEVICE, and nothing is mounted there. False if that is
 * unknown, as before Linux 5.8. Rests on statx(2).
 */
bool is_name_of_inode(int directory, const char *name, dev_t device, ino_t inode);

struct inode_set;

/* A set of files. Returns 0 or -ENOMEM; freed with inode_set_free(). */
int inode_set_new(struct inode_set **ret_set);
void inode_set_free(struct inode_set *set);

/* Returns 1 if the file was added, 0 if it was there already, or -ENOMEM. */
int inode_set_add(struct inode_set *set, dev_t device, ino_t inode);

/*
 * Adds the file, or finds it with the least number with which it was added. Returns 1 if that is NUMBER, 0 if
 * it is less, or -ENOMEM.
 */
int inode_set_add_numbered(struct inode_set *set, dev_t device, ino_t inode, uint64_t number);

bool inode_set_contains(const struct inode_set *set, dev_t device, ino_t inode);

#endif
