/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROBE_IMAGE_H
#define FASTPATH_PROBE_IMAGE_H

#include "feature-probe.h"
#include "probe-files.h"

/*
 * A small btrfs in an image file, for what only shows after a mount. It is mounted where this
 * process alone sees it, so that the mount goes with the process, however that ends.
 */
struct probe_image {
	/* the caller's */
	const struct probe_directory *parent;
	/* of a folder in there that holds the image and its mount point */
	char name[PROBE_NAME_SIZE];
	/* the root directory of what is mounted, -1 otherwise */
	int root_fd;
};

/*
 * Make an image in PARENT with mkfs.btrfs. RET_IMAGE is to be given to
 * probe_image_remove() in any case.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOPKG if mkfs.btrfs is not in $PATH, -EIO if it
 * fails, or a negative errno as mkdir(2), open(2) and unshare(2).
 */
int probe_image_new(const struct probe_directory *parent, struct probe_image *ret_image);

/*
 * Mount it: nothing of it is in memory then. Returns 0 and sets root_fd, -ENODEV without loop
 * devices, or a negative errno as mount(2). Rests on libmount.
 */
int probe_image_mount(struct probe_image *image);

/* Returns 0 if it was mounted or not, or a negative errno as umount(2). Closes root_fd. */
int probe_image_unmount(struct probe_image *image);

/* A descriptor of the image file, for reading and writing, or a negative errno. */
int probe_image_open(const struct probe_image *image);

/* Unmounts it and leaves nothing. Returns 0 or a negative errno. */
int probe_image_remove(struct probe_image *image);

#endif
