// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stddef.h>

#include "fs/inode-flags.h"
#include "fs/subvolume.h"
#include "nocow/blocked-writes.h"
#include "path/mount-cleanup.h"

const char *write_block_name(enum write_block block)
{
	static const char *const names[] = {
		[WRITE_BLOCK_SUBVOLUME] = "read_only_subvolume",
		[WRITE_BLOCK_IMMUTABLE] = "immutable",
		[WRITE_BLOCK_APPEND_ONLY] = "append_only",
		[WRITE_BLOCK_SWAP] = "swap",
	};

	return names[block];
}

static int add_swap_files(struct inode_set *set)
{
	CLEANUP_MOUNT_TABLE struct libmnt_table *swaps = mnt_new_table();
	CLEANUP_MOUNT_ITER struct libmnt_iter *iter = mnt_new_iter(MNT_ITER_FORWARD);
	struct libmnt_fs *swap;

	if (!swaps || !iter)
		return -ENOMEM;
	if (mnt_table_parse_swaps(swaps, NULL) != 0)
		return 0;
	while (mnt_table_next_fs(swaps, iter, &swap) == 0) {
		const char *path = mnt_fs_get_source(swap);
		struct stat status;

		if (path && stat(path, &status) == 0 &&
		    inode_set_add(set, status.st_dev, status.st_ino) < 0)
			return -ENOMEM;
	}
	return 0;
}

int swap_files_read(struct inode_set **ret_swap_files)
{
	struct inode_set *set;
	int ret = inode_set_new(&set);

	if (ret < 0)
		return ret;
	ret = add_swap_files(set);
	if (ret < 0) {
		inode_set_free(set);
		return ret;
	}

	*ret_swap_files = set;
	return 0;
}

int write_block_of(int fd, const struct stat *status, uint32_t inode_flags, bool is_read_only,
		   const struct inode_set *swap_files, enum write_block *ret_block)
{
	enum write_block block = WRITE_BLOCK_NONE;
	int ret;

	ret = is_read_only ? subvolume_is_read_only(fd) : 0;
	if (ret < 0)
		return ret;
	if (ret) {
		block = WRITE_BLOCK_SUBVOLUME;
	} else if (inode_flags & INODE_IMMUTABLE) {
		block = WRITE_BLOCK_IMMUTABLE;
	} else if (inode_flags & INODE_APPEND) {
		block = WRITE_BLOCK_APPEND_ONLY;
	} else if (inode_set_contains(swap_files, status->st_dev, status->st_ino)) {
		block = WRITE_BLOCK_SWAP;
	}

	*ret_block = block;
	return 0;
}
