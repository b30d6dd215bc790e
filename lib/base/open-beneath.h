/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPEN_BENEATH_H
#define FASTPATH_OPEN_BENEATH_H

/*
 * Opens NAME, a single name, in the directory of the descriptor DIRECTORY, with FLAGS as for
 * open(2), even if the directory is moved meanwhile. Never follows a symbolic link and never enters
 * another mount (a subvolume is not a mount). Uses openat2(2), or openat(2) if that is missing or
 * forbidden.
 * Returns a descriptor that the caller closes, or a negative errno: -EXDEV for another mount and
 * nothing else, -ELOOP for a symbolic link (unless FLAGS have O_PATH: then the link itself is
 * opened), -EINVAL if NAME is empty, ".", "..", or has a slash, or as open(2).
 */
int open_beneath(int directory, const char *name, int flags);

/*
 * As open_beneath(), but returns -ENOSYS if openat2(2) is missing or forbidden, because openat(2)
 * opens a file on another mount before this can be noticed.
 */
int open_beneath_at_once(int directory, const char *name, int flags);

/*
 * The directory /proc/self/fd, for reopen_for_reading(). Returns a descriptor that the caller
 * closes, or a negative errno; -ENOENT also if /proc is not proc(5).
 */
int open_own_descriptors(void);

/*
 * Opens the file of PATH_FD for reading, even if its name now belongs to another file. PATH_FD was
 * opened with O_PATH; OWN_DESCRIPTORS is from open_own_descriptors(). Does not wait for the end of
 * a lease on the file.
 * Returns a descriptor that the caller closes, or a negative errno as open(2).
 */
int reopen_for_reading(int own_descriptors, int path_fd);

#endif
