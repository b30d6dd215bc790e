// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path/descriptor-place.h"
#include "sys/cleanup.h"

/* Returns NULL where it is not known: of what is outside the mount it is "/". */
static char *path_of(int fd)
{
	char link[sizeof("/proc/self/fd/") + 10];
	CLEANUP_FREE char *path = calloc(1, PATH_MAX);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!path || readlink(link, path, PATH_MAX - 1) < 0 || strcmp(path, "/") == 0)
		return NULL;
	return strdup(path);
}

int descriptor_place_of(int fd, struct descriptor_place *ret_place)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*ret_place = (struct descriptor_place){ status.st_ino, path_of(fd) };
	return 0;
}
