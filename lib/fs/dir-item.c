// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/dir-item.h"
#include "num/digest.h"

/* btrfs hashes names by a CRC that begins so. */
#define NAME_HASH_SEED (~UINT32_C(1))

int dir_item_find(const void *data, size_t size, const char *name, size_t name_length,
		  uint64_t *ret_inode)
{
	const char *next = data;

	while (size) {
		struct btrfs_dir_item entry;
		struct btrfs_disk_key location;
		const char *entry_name = next + sizeof(entry);
		size_t entry_name_length, length;

		if (size < sizeof(entry))
			return -EPROTO;
		memcpy(&entry, next, sizeof(entry));
		entry_name_length = btrfs_stack_dir_name_len(&entry);
		length = sizeof(entry) + entry_name_length + le16toh(entry.data_len);
		if (length > size)
			return -EPROTO;
		location = entry.location;
		if (entry_name_length == name_length &&
		    memcmp(entry_name, name, name_length) == 0) {
			if (location.type != BTRFS_INODE_ITEM_KEY)
				return 0;
			*ret_inode = le64toh(location.objectid);
			return 1;
		}
		next += length;
		size -= length;
	}
	return 0;
}

int dir_item_lookup(struct tree_batch *batch, int fd, uint64_t tree_id, uint64_t directory,
		    const char *name, size_t name_length, uint64_t *ret_inode)
{
	const struct tree_key key = {
		.objectid = directory,
		.type = BTRFS_DIR_ITEM_KEY,
		.offset = crc32c(NAME_HASH_SEED, name, name_length),
	};
	struct tree_item item;
	int ret;

	ret = tree_batch_fetch(batch, fd, tree_id, key, key, 1);
	if (ret == 0)
		ret = tree_batch_next(batch, &item);
	if (ret <= 0)
		return ret;
	if (!item.data)
		return -EPROTO;
	return dir_item_find(item.data, item.size, name, name_length, ret_inode);
}
