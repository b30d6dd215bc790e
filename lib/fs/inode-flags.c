// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <linux/fs.h>

#include <btrfs/ctree.h>

#include "fs/inode-flags.h"
#include "sys/cleanup.h"
#include "sys/retry-ioctl.h"

static const struct {
	const char *name;
	/* what FS_IOC_GETFLAGS has for it, 0: nothing */
	unsigned int file_flag;
} flags[] = {
	{ "nodatasum", 0 },
	{ "nodatacow", FS_NOCOW_FL },
	{ "readonly", 0 },
	{ "nocompress", FS_NOCOMP_FL },
	{ "prealloc", 0 },
	{ "sync", FS_SYNC_FL },
	{ "immutable", FS_IMMUTABLE_FL },
	{ "append", FS_APPEND_FL },
	{ "nodump", FS_NODUMP_FL },
	{ "noatime", FS_NOATIME_FL },
	{ "dirsync", FS_DIRSYNC_FL },
	{ "compress", FS_COMPR_FL },
};

#define FLAG_COUNT (sizeof(flags) / sizeof(flags[0]))

const char *inode_flags_take_name(uint32_t *inode_flags)
{
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (!(*inode_flags & 1u << i))
			continue;
		*inode_flags &= ~(1u << i);
		return flags[i].name;
	}
	return NULL;
}

int inode_flags_of(int fd, uint32_t *ret_flags)
{
	uint32_t inode_flags = 0;
	/* The kernel writes an int, whatever the request's number says. */
	int file_flags = 0;
	int ret;

	ret = retry_ioctl(fd, FS_IOC_GETFLAGS, &file_flags, 0);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < FLAG_COUNT; i++)
		if ((unsigned int)file_flags & flags[i].file_flag)
			inode_flags |= 1u << i;

	*ret_flags = inode_flags;
	return 0;
}

int inode_flags_parse(const struct tree_item *item, uint32_t *ret_flags)
{
	const size_t offset = offsetof(struct btrfs_inode_item, flags);
	uint64_t raw;

	if (item->size < offset + sizeof(raw))
		return -EPROTO;
	memcpy(&raw, (const char *)item->data + offset, sizeof(raw));
	/* The upper half holds what only read-only features set. */
	*ret_flags = (uint32_t)le64_to_cpu(raw);
	return 0;
}

/* The flags that the tree has. Returns as inode_flags_all_of(). */
static int flags_in_tree(int fd, uint64_t inode, uint32_t *ret_flags)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct tree_item item;
	int ret;

	ret = tree_search_new(&search, fd, 0, inode, BTRFS_INODE_ITEM_KEY, 0, 0);
	if (ret < 0)
		return ret;
	ret = tree_search_next(search, &item);
	if (ret == 0)
		return -ENOENT;
	return ret < 0 ? ret : inode_flags_parse(&item, ret_flags);
}

int inode_flags_all_of(int fd, uint64_t inode, uint32_t *ret_flags)
{
	uint32_t current, in_tree, known = 0;
	int ret;

	ret = inode_flags_of(fd, &current);
	if (ret == 0)
		ret = flags_in_tree(fd, inode, &in_tree);
	if (ret < 0)
		return ret;

	for (size_t i = 0; i < FLAG_COUNT; i++)
		if (flags[i].file_flag)
			known |= 1u << i;
	*ret_flags = current | (in_tree & ~known);
	return 0;
}

int inode_flags_of_parents(int fd, uint64_t inode, uint32_t *ret_flags)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	uint32_t found = 0, in_tree;
	struct tree_item item;
	int ret;

	ret = tree_search_new(&search, fd, 0, inode, BTRFS_INODE_REF_KEY, 0, UINT64_MAX);
	if (ret < 0)
		return ret;
	while ((ret = tree_search_next(search, &item)) > 0) {
		ret = flags_in_tree(fd, item.offset, &in_tree);
		/* It was removed meanwhile. */
		if (ret == -ENOENT)
			continue;
		if (ret < 0)
			return ret;
		found |= in_tree;
	}
	if (ret < 0)
		return ret;

	*ret_flags = found;
	return 0;
}

/*
 * The directory may hand its own attributes down, hence both ways. NOCOW and compression exclude
 * each other, and the kernel does not exchange one for the other in one call.
 */
int inode_flags_set_nocow(int fd, bool nocow)
{
	unsigned int file_flags = 0;
	int ret;

	ret = retry_ioctl(fd, FS_IOC_SETFLAGS, &file_flags, sizeof(file_flags));
	if (ret < 0 || !nocow)
		return ret;
	file_flags = FS_NOCOW_FL;
	return retry_ioctl(fd, FS_IOC_SETFLAGS, &file_flags, sizeof(file_flags));
}
