// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/drop-caches.h"

int drop_caches(int fd)
{
	CLEANUP_CLOSE int control = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	if (control < 0)
		return -errno;
	/* Dirty blocks cannot be dropped. */
	if (syncfs(fd))
		return -errno;
	return write(control, "3\n", 2) == 2 ? 0 : -errno;
}
