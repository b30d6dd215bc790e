/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RETRY_IOCTL_H
#define FASTPATH_RETRY_IOCTL_H

#include <stddef.h>

/* as much as struct btrfs_ioctl_fs_info_args has */
#define RETRY_IOCTL_INPUT_MAX 1024

/*
 * ioctl(2) that starts again after EINTR. The kernel may have written to ARGUMENT by then (FIEMAP
 * answers whatever it returns), so each call begins with the same INPUT_SIZE bytes of it. How many
 * the kernel reads is not in the number of a request: that of FS_IOC_GETFLAGS has the size of a
 * long, and the argument is an int; that of BTRFS_IOC_FS_INFO says that nothing is read. Not for
 * calls that cannot be repeated, such as BTRFS_IOC_SEND.
 * Returns what ioctl returned (never negative), or a negative errno; -E2BIG if INPUT_SIZE is larger
 * than RETRY_IOCTL_INPUT_MAX.
 */
int retry_ioctl(int fd, unsigned long request, void *argument, size_t input_size);

#endif
