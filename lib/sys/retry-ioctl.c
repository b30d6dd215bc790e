// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "sys/retry-ioctl.h"

int retry_ioctl(int fd, unsigned long request, void *argument, size_t input_size)
{
	char input[RETRY_IOCTL_INPUT_MAX];

	if (input_size > sizeof(input))
		return -E2BIG;
	memcpy(input, argument, input_size);
	for (;;) {
		int ret = ioctl(fd, request, argument);

		if (ret >= 0)
			return ret;
		if (errno != EINTR)
			return -errno;
		memcpy(argument, input, input_size);
	}
}
