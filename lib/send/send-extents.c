// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "send/send-extents.h"
#include "send/send-inodes.h"
#include "sys/cleanup.h"

struct send_extents {
	int fd;
	bool has_parent;
	bool is_compressed;
	struct send_inodes *inodes;
	/* the file under way, 0 if it is unknown, and its size */
	char path[PATH_MAX];
	uint64_t inode;
	uint64_t size;
	/* where its next extent begins at the earliest */
	uint64_t next_offset;
	struct file_extent_iter *iter;
};

int send_extents_new(struct send_extents **ret_extents, int fd, uint64_t parent, bool is_compressed)
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
	extents->has_parent = parent;
	extents->is_compressed = is_compressed;

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

static int find_file(struct send_extents *extents, const struct send_command *command)
{
	uint64_t inode;
	int ret;

	/* Extents come in order: another file can have the name by now. */
	if (strcmp(command->path, extents->path) == 0 && command->offset >= extents->next_offset)
		return 0;
	file_extent_iter_free(extents->iter);
	extents->iter = NULL;
	extents->inode = 0;
	snprintf(extents->path, sizeof(extents->path), "%s", command->path);
	ret = send_inodes_find(extents->inodes, command->path, &inode);
	if (ret > 0)
		ret = send_inodes_size(extents->inodes, inode, &extents->size);
	if (ret > 0)
		extents->inode = inode;
	return ret < 0 ? ret : 0;
}

static int find_item(struct send_extents *extents, uint64_t offset, struct file_extent *ret_extent)
{
	int ret = 0;

	if (!extents->iter)
		ret = file_extent_iter_new(&extents->iter, extents->fd, extents->inode, offset);
	return ret < 0 ? ret : file_extent_iter_next(extents->iter, offset, offset + 1, ret_extent);
}

static bool is_hole(const struct file_extent *extent)
{
	return !extent->disk_bytenr && !extent->is_inline;
}

/* Where the hole ends that contains OFFSET: at the next item of any kind. */
static int find_hole_end(struct send_extents *extents, uint64_t offset, uint64_t *ret_end)
{
	CLEANUP(file_extent_iter_freep) struct file_extent_iter *iter = NULL;
	struct file_extent extent;
	uint64_t end = extents->size;
	int ret;

	ret = file_extent_iter_new(&iter, extents->fd, extents->inode, offset);
	if (ret == 0)
		ret = file_extent_iter_next(iter, offset, UINT64_MAX, &extent);
	if (ret < 0)
		return ret;
	if (ret > 0)
		end = extent.offset > offset ? extent.offset : extent.offset + extent.length;
	*ret_end = end < extents->size ? end : extents->size;
	return 0;
}

/* The trees and the stream must agree. */
static int find_hole_length(struct send_extents *extents, const struct send_command *command,
			    uint64_t *ret_length)
{
	uint64_t end;
	int ret = find_hole_end(extents, command->offset, &end);

	if (ret < 0)
		return ret;
	*ret_length = end - command->offset;
	return *ret_length == command->length || (uint32_t)*ret_length == command->length ?
		       0 :
		       -ENODATA;
}

int send_extents_find(struct send_extents *extents, const struct send_command *command,
		      struct file_extent *ret_extent, uint64_t *ret_length)
{
	uint64_t offset = command->offset;
	bool can_be_cut;
	int ret;

	*ret_length = command->length;
	if (offset == UINT64_MAX)
		return 0;
	ret = find_file(extents, command);
	if (ret < 0)
		return ret;
	extents->next_offset = offset + 1;
	if (!extents->inode)
		return extents->has_parent ? -ENODATA : 0;
	can_be_cut = extents->has_parent && offset < extents->size &&
		     extents->size - offset > UINT32_MAX;
	if (!can_be_cut && !extents->is_compressed)
		return 0;
	ret = find_item(extents, offset, ret_extent);
	if (ret < 0 || !can_be_cut || (ret > 0 && !is_hole(ret_extent)))
		return ret;
	return find_hole_length(extents, command, ret_length);
}
