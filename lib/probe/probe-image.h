/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROBE_IMAGE_H
#define FASTPATH_PROBE_IMAGE_H

#include "probe/feature-probe.h"

#define PROBE_DEVICE_SIZE 32

/*
 * A small new btrfs, for measurements that must be apart from the files of users, or that need a
 * mount. The image file has no name, and the mount is not attached to a directory, so no other user
 * can reach them by a path, and no process sees the mount. All is removed when the descriptors are
 * closed, so nothing is left even if this process is killed.
 */
struct probe_image {
	/* the image, for reading and writing while it is not mounted */
	int file_fd;
	/* the loop device of the image; it is freed when the last descriptor is closed */
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
 * Make an image on the file system of DIRECTORY_FD with mkfs.btrfs, and do not mount it. FAILURE
 * gets the step that fails, in this function or in probe_image_mount().
 * Returns 0; or a negative errno, and then there is nothing to free: -EPERM or -EACCES without
 * privilege, -ENODEV without loop devices, -ENOPKG if mkfs.btrfs is not in $PATH, -EIO if it fails,
 * -EBUSY if other programs take each loop device first, or as open(2) with O_TMPFILE.
 * Freed with probe_image_free(). Rests on LOOP_CONFIGURE (Linux 5.8).
 */
int probe_image_new(int directory_fd, struct probe_failure *failure, struct probe_image *ret_image);

/*
 * Mount the image with nosuid, nodev and noexec. After that nothing of it is cached.
 * Returns 0 and sets root_fd, or a negative errno: -ENOSYS before Linux 5.2, -EPERM without
 * CAP_SYS_ADMIN, or as mount(2). Rests on fsopen(2), fsconfig(2) and fsmount(2).
 */
int probe_image_mount(struct probe_image *image);

/*
 * Close root_fd and unmount. All other descriptors in the mount must be closed before.
 * Returns 0 when the file system has released the device, -EBUSY if it does not, or as open(2).
 */
int probe_image_unmount(struct probe_image *image);

void probe_image_free(struct probe_image *image);

#endif
