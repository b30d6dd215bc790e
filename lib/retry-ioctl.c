// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <sys/ioctl.h>

#include "retry-ioctl.h"

int retry_ioctl(int fd, unsigned long request, void *argument)
{
	int ret;

	do {
		ret = ioctl(fd, request, argument);
	} while (ret < 0 && errno == EINTR);

	return ret < 0 ? -errno : ret;
}
