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
	const struct probe_directory *parent;
	/* of a folder in there that holds the image and its mount point */
	char name[PROBE_NAME_SIZE];
	/* the root directory of what is mounted, -1 otherwise */
	int root_fd;
};

/* Returns 0 with a cost, or a negative errno. */
typedef int probe_image_work(struct probe_image *image, struct interrupts *interrupts,
			     struct feature_cost *ret_cost);

/*
 * Make an image in DIRECTORY with mkfs.btrfs, call WORK with it, not mounted, and leave nothing.
 * Returns what WORK returned, -EPERM without CAP_SYS_ADMIN, -ENOPKG if mkfs.btrfs is not in $PATH,
 * -EIO if it fails, -EINTR after a signal, or a negative errno as mkdir(2), open(2), unshare(2)
 * and umount(2).
 */
int probe_image_run(const struct probe_directory *directory, struct interrupts *interrupts,
		    probe_image_work *work, struct feature_cost *ret_cost);

/*
 * Mount it: nothing of it is in memory then. Returns 0 and sets root_fd, -ENODEV without loop
 * devices, or a negative errno as mount(2). Rests on libmount.
 */
int probe_image_mount(struct probe_image *image);

/* Returns 0 if it was mounted or not, or a negative errno as umount(2). Closes root_fd. */
int probe_image_unmount(struct probe_image *image);

/* A descriptor of the image file, for reading and writing, or a negative errno. */
int probe_image_open(const struct probe_image *image);

#endif
