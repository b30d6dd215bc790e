// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/write-at.h"

int write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	const char *rest = data;

	while (size) {
		ssize_t count = pwrite(fd, rest, size, offset);

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count == 0)
			return -EIO;
		if (count > 0) {
			rest += count;
			size -= count;
			offset += count;
		}
	}
	return 0;
}
