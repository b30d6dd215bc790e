/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RETRY_IOCTL_H
#define FASTPATH_RETRY_IOCTL_H

#include <stddef.h>

/* as much as struct btrfs_ioctl_fs_info_args has */
#define RETRY_IOCTL_INPUT_MAX 1024

/*
 * ioctl(2) that is repeated after EINTR. By then the kernel can have written to ARGUMENT (FIEMAP
 * writes it even after an error), so its first INPUT_SIZE bytes are restored before each call. The
 * number of a request does not tell how many bytes the kernel reads: that of FS_IOC_GETFLAGS has
 * the size of a long, although the argument is an int, and that of BTRFS_IOC_FS_INFO says that the
 * kernel reads nothing. Not for calls that cannot be repeated, such as BTRFS_IOC_SEND.
 * Returns the result of ioctl (never negative), or a negative errno; -E2BIG if INPUT_SIZE is larger
 * than RETRY_IOCTL_INPUT_MAX.
 */
int retry_ioctl(int fd, unsigned long request, void *argument, size_t input_size);

#endif
