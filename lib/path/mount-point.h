/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MOUNT_POINT_H
#define FASTPATH_MOUNT_POINT_H

/*
 * The path at which the file system of FD is mounted, for this mount only, which the caller frees.
 * Returns 0 or a negative errno: -ENOENT if the path is not known, as of a mount of another mount namespace,
 * or before Linux 5.8.
 * Rests on statx(2), and on /proc/self/mountinfo through libmount.
 */
int mount_point_of(int fd, char **ret_path);

#endif
