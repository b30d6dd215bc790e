/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPEN_BENEATH_H
#define FASTPATH_OPEN_BENEATH_H

/*
 * Opens NAME, a single name, in the directory that the descriptor DIRECTORY is of, with FLAGS as
 * for open(2), wherever the name is moved meanwhile. Never follows a symbolic link and never enters
 * another mount, which subvolumes are not. By openat2(2), or by openat(2) where that is missing or
 * forbidden.
 * Returns a descriptor that the caller closes, or a negative errno: -EXDEV for another mount and
 * nothing else, -ELOOP for a symbolic link (unless FLAGS have O_PATH: then the link itself is
 * opened), -EINVAL if NAME is empty, ".", "..", or has a slash, or as open(2).
 */
int open_beneath(int directory, const char *name, int flags);

/*
 * As open_beneath(), but -ENOSYS where openat2(2) is missing or forbidden: openat(2) opens what is
 * on another mount before that can be noticed.
 */
int open_beneath_at_once(int directory, const char *name, int flags);

/*
 * The directory /proc/self/fd, for reopen_for_reading(). Returns a descriptor that the caller
 * closes, or a negative errno; -ENOENT also where something other than proc(5) is at /proc.
 */
int open_own_descriptors(void);

/*
 * Opens for reading what PATH_FD, opened with O_PATH, is of, whatever its name leads to by now.
 * OWN_DESCRIPTORS is from open_own_descriptors(). Does not wait for a lease on the file to end.
 * Returns a descriptor that the caller closes, or a negative errno as open(2).
 */
int reopen_for_reading(int own_descriptors, int path_fd);

#endif
