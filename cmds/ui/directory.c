// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "fs/filesystem.h"
#include "ui/directory.h"
#include "ui/message.h"

static int complain(const char *path, int fd)
{
	if (fd == -ENOTTY)
		error_path("not a btrfs filesystem:", path, 0);
	else if (fd < 0)
		error_path("cannot open", path, fd);
	return fd;
}

int directory_open(const char *path)
{
	return complain(path, filesystem_open_directory(path, O_RDONLY));
}

int directory_open_to_write(const char *path)
{
	int fd = filesystem_open_directory(path, O_RDONLY);

	if (fd == -EACCES)
		fd = filesystem_open_directory(path, O_PATH);
	return complain(path, fd);
}
