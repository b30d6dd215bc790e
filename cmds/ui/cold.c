// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/drop-caches.h"
#include "ui/cold.h"
#include "ui/message.h"

int cold_drop_caches(int fd)
{
	int ret = drop_caches(fd);

	if (ret != -EACCES && ret != -EPERM && ret != -EROFS && ret != -ENOENT)
		return ret < 0 ? ret : 1;

	error("--cold needs %s/proc/sys/vm/drop_caches (%s)",
	      ret == -ENOENT ? "" : "root to write to ", strerror(-ret));
	return 0;
}
