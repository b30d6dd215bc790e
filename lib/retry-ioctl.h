/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_RETRY_IOCTL_H
#define FASTPATH_RETRY_IOCTL_H

/*
 * ioctl(2) that starts again after EINTR.
 * Returns what ioctl returned (never negative), or a negative errno.
 */
int retry_ioctl(int fd, unsigned long request, void *argument);

#endif
