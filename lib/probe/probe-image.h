/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROBE_IMAGE_H
#define FASTPATH_PROBE_IMAGE_H

#include "probe/feature-probe.h"

#define PROBE_DEVICE_SIZE 32

/*
 * A small btrfs of its own, for what must not meet the files of others, or only shows after a
 * mount. The image file has no name, and the mount is attached to no directory: no other user can
 * reach either by any path, and no process sees the mount. Everything goes with the descriptors,
 * so nothing is left however this process ends.
 */
struct probe_image {
	/* the image, for reading and writing while it is not mounted */
	int file_fd;
	/* the loop device on it; the last one who closes it frees it */
	int device_fd;
	char device[PROBE_DEVICE_SIZE];
	/* the mount; -1 while there is none */
	int mount_fd;
	/* its root directory */
	int root_fd;
	/* the caller's */
	struct probe_failure *failure;
};

/*
 * Make an image on the file system of DIRECTORY_FD with mkfs.btrfs, not mounted. What fails, now
 * or when it is mounted, is told in FAILURE.
 * Returns 0, or a negative errno, and there is nothing to free then: -EPERM or -EACCES without
 * privilege, -ENODEV without loop devices, -ENOPKG if mkfs.btrfs is not in $PATH, -EIO if it
 * fails, -EBUSY if others take each loop device first, or as open(2) of an O_TMPFILE.
 * Freed with probe_image_free(). Rests on LOOP_CONFIGURE (Linux 5.8).
 */
int probe_image_new(int directory_fd, struct probe_failure *failure, struct probe_image *ret_image);

/*
 * Mount it, with nosuid, nodev and noexec; nothing of it is in memory then.
 * Returns 0 and sets root_fd, or a negative errno: -ENOSYS before Linux 5.2, -EPERM without
 * CAP_SYS_ADMIN, or as mount(2). Rests on fsopen(2), fsconfig(2) and fsmount(2).
 */
int probe_image_mount(struct probe_image *image);

/*
 * Close root_fd and unmount. Other descriptors of what is mounted must be closed before.
 * Returns 0 once the file system has let go of the device, -EBUSY if it does not, or as open(2).
 */
int probe_image_unmount(struct probe_image *image);

void probe_image_free(struct probe_image *image);

#endif
