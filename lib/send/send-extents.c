// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "send/send-extents.h"
#include "send/send-inodes.h"

struct send_extents {
	int fd;
	struct send_inodes *inodes;
	/* the file under way, where its next extent begins at the earliest; NULL: it has none */
	char path[PATH_MAX];
	uint64_t next_offset;
	struct file_extent_iter *iter;
};

int send_extents_new(struct send_extents **ret_extents, int fd, uint64_t parent)
{
	struct send_extents *extents = calloc(1, sizeof(*extents));
	int ret;

	if (!extents)
		return -ENOMEM;
	ret = send_inodes_new(&extents->inodes, fd, parent);
	if (ret < 0) {
		free(extents);
		return ret;
	}
	extents->fd = fd;

	*ret_extents = extents;
	return 0;
}

void send_extents_free(struct send_extents *extents)
{
	if (!extents)
		return;
	file_extent_iter_free(extents->iter);
	send_inodes_free(extents->inodes);
	free(extents);
}

void send_extents_follow(struct send_extents *extents, const struct send_command *command)
{
	send_inodes_follow(extents->inodes, command);
}

static int begin_file(struct send_extents *extents, const struct send_command *command)
{
	uint64_t inode;
	int ret;

	file_extent_iter_free(extents->iter);
	extents->iter = NULL;
	snprintf(extents->path, sizeof(extents->path), "%s", command->path);
	ret = send_inodes_find(extents->inodes, command->path, &inode);
	if (ret <= 0)
		return ret;
	return file_extent_iter_new(&extents->iter, extents->fd, inode, command->offset);
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
