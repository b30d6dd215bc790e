// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "send/send-extents.h"

struct send_extents {
	int fd;
	dev_t device;
	/* the file under way, where its next extent begins at the earliest; NULL: it has none */
	char path[PATH_MAX];
	uint64_t next_offset;
	struct file_extent_iter *iter;
};

int send_extents_new(struct send_extents **ret_extents, int fd)
{
	struct send_extents *extents;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	extents = calloc(1, sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	extents->fd = fd;
	extents->device = status.st_dev;

	*ret_extents = extents;
	return 0;
}

void send_extents_free(struct send_extents *extents)
{
	if (!extents)
		return;
	file_extent_iter_free(extents->iter);
	free(extents);
}

/* A name of the stream can be one that the file has for a while only. */
static int begin_file(struct send_extents *extents, const struct send_command *command)
{
	struct stat status;

	file_extent_iter_free(extents->iter);
	extents->iter = NULL;
	snprintf(extents->path, sizeof(extents->path), "%s", command->path);
	if (fstatat(extents->fd, command->path, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	/* what is mounted there */
	if (!S_ISREG(status.st_mode) || status.st_dev != extents->device)
		return 0;
	return file_extent_iter_new(&extents->iter, extents->fd, status.st_ino, command->offset);
}

int send_extents_find(struct send_extents *extents, const struct send_command *command,
		      struct file_extent *ret_extent)
{
	uint64_t offset = command->offset;
	int ret;

	if (offset == UINT64_MAX)
		return 0;
	if (strcmp(command->path, extents->path) != 0 || offset < extents->next_offset) {
		ret = begin_file(extents, command);
		if (ret < 0)
			return ret;
	}
	extents->next_offset = offset + 1;
	return extents->iter ?
		       file_extent_iter_next(extents->iter, offset, offset + 1, ret_extent) :
		       0;
}
