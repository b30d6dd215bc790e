// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/filesystem.h"
#include "ui/directory.h"
#include "ui/message.h"

static int complain_of_directory(const char *path, int fd)
{
	if (fd == -ENOTTY)
		error_path("not a btrfs filesystem:", path, 0);
	else if (fd < 0)
		error_path("cannot open", path, fd);
	return fd;
}

int directory_open(const char *path)
{
	return complain_of_directory(path, filesystem_open_directory(path, O_RDONLY));
}

int directory_open_to_write(const char *path)
{
	int fd = filesystem_open_directory(path, O_RDONLY);

	if (fd == -EACCES)
		fd = filesystem_open_directory(path, O_PATH);
	return complain_of_directory(path, fd);
}

int cold_drop_caches(int fd)
{
	int ret = drop_caches(fd);

	if (ret != -EACCES && ret != -EPERM && ret != -EROFS && ret != -ENOENT)
		return ret < 0 ? ret : 1;

	error("--cold requires %s/proc/sys/vm/drop_caches (%s)",
	      ret == -ENOENT ? "" : "root to write to ", strerror(-ret));
	return 0;
}
