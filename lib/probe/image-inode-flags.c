// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "num/digest.h"
#include "path/temporary-file.h"
#include "probe/image-inode-flags.h"
#include "seek/seek-iter.h"
#include "sys/cleanup.h"

#define NODE_SIZE_MIN 4096
#define NODE_SIZE_MAX 65536

static uint32_t checksum_of(const uint8_t *leaf, size_t size)
{
	return htole32(~crc32c(~0U, leaf + BTRFS_CSUM_SIZE, size - BTRFS_CSUM_SIZE));
}

static bool is_leaf_of(const uint8_t *leaf, size_t size, const uint8_t fsid[FSID_SIZE],
		       uint64_t tree_id)
{
	struct btrfs_header header;
	uint32_t checksum = checksum_of(leaf, size);

	memcpy(&header, leaf, sizeof(header));
	return memcmp(header.fsid, fsid, sizeof(header.fsid)) == 0 && header.level == 0 &&
	       le64toh(header.owner) == tree_id &&
	       memcmp(header.csum, &checksum, sizeof(checksum)) == 0;
}

static bool is_inode_item(const struct btrfs_item *item, uint64_t inode)
{
	return le64toh(item->key.objectid) == inode && item->key.type == BTRFS_INODE_ITEM_KEY &&
	       le64toh(item->key.offset) == 0 &&
	       le32toh(item->size) >= sizeof(struct btrfs_inode_item);
}

/* Where in LEAF the flags of INODE are, NULL if it is not there. */
static uint8_t *find_flags(uint8_t *leaf, size_t size, uint64_t inode)
{
	struct btrfs_header header;
	uint64_t items_end;

	memcpy(&header, leaf, sizeof(header));
	items_end = sizeof(header) + (uint64_t)le32toh(header.nritems) * sizeof(struct btrfs_item);
	if (items_end > size)
		return NULL;
	for (size_t place = sizeof(header); place < items_end; place += sizeof(struct btrfs_item)) {
		struct btrfs_item item;
		uint64_t data;

		memcpy(&item, leaf + place, sizeof(item));
		if (!is_inode_item(&item, inode))
			continue;
		data = sizeof(header) + (uint64_t)le32toh(item.offset);
		if (data < items_end || data + sizeof(struct btrfs_inode_item) > size)
			return NULL;
		return leaf + data + offsetof(struct btrfs_inode_item, flags);
	}
	return NULL;
}

bool image_inode_flags_edit_leaf(void *leaf, size_t size, const uint8_t fsid[FSID_SIZE],
				 uint64_t tree_id, uint64_t inode, uint64_t flags)
{
	uint32_t checksum;
	uint8_t *place;
	uint64_t value;

	if (size < sizeof(struct btrfs_header) || !is_leaf_of(leaf, size, fsid, tree_id))
		return false;
	place = find_flags(leaf, size, inode);
	if (!place)
		return false;
	memcpy(&value, place, sizeof(value));
	value |= htole64(flags);
	memcpy(place, &value, sizeof(value));
	checksum = checksum_of(leaf, size);
	memcpy(leaf, &checksum, sizeof(checksum));
	return true;
}

static int read_at(int fd, void *data, size_t size, uint64_t offset)
{
	ssize_t count = pread(fd, data, size, offset);

	if (count < 0)
		return -errno;
	return (size_t)count == size ? 0 : -EPROTO;
}

/* What an image is walked for, and by what blocks. */
struct edit {
	int fd;
	uint8_t fsid[BTRFS_FSID_SIZE];
	uint32_t node_size;
	uint64_t tree_id;
	uint64_t inode;
	uint64_t flags;
	bool found;
};

static int read_super(struct edit *edit)
{
	struct btrfs_super_block super;
	int ret;

	ret = read_at(edit->fd, &super, sizeof(super), BTRFS_SUPER_INFO_OFFSET);
	if (ret < 0)
		return ret;
	edit->node_size = le32toh(super.nodesize);
	if (le64toh(super.magic) != BTRFS_MAGIC ||
	    le16toh(super.csum_type) != BTRFS_CSUM_TYPE_CRC32 || edit->node_size < NODE_SIZE_MIN ||
	    edit->node_size > NODE_SIZE_MAX || (edit->node_size & (edit->node_size - 1)))
		return -EPROTO;
	memcpy(edit->fsid, super.fsid, sizeof(edit->fsid));
	return 0;
}

/* Blocks of trees are on bounds of their size. */
static int edit_segment(struct edit *edit, uint64_t offset, uint64_t end, uint8_t *block)
{
	int ret = 0;

	offset -= offset % edit->node_size;
	for (; ret == 0 && end - offset >= edit->node_size; offset += edit->node_size) {
		ret = read_at(edit->fd, block, edit->node_size, offset);
		if (ret < 0 ||
		    !image_inode_flags_edit_leaf(block, edit->node_size, edit->fsid, edit->tree_id,
						 edit->inode, edit->flags))
			continue;
		edit->found = true;
		ret = write_at(edit->fd, block, edit->node_size, offset);
	}
	return ret;
}

static int edit_segments(struct edit *edit, uint64_t size)
{
	CLEANUP_FREE uint8_t *block = malloc(edit->node_size);
	struct seek_segment segment;
	struct seek_iter iter;
	int ret;

	if (!block)
		return -ENOMEM;
	seek_iter_start(&iter, edit->fd, WHOLE_FILE, size);
	while ((ret = seek_iter_next(&iter, &segment)) > 0) {
		if (!segment.is_data)
			continue;
		ret = edit_segment(edit, segment.offset, segment.offset + segment.length, block);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int image_inode_flags_edit(int image_fd, uint64_t tree_id, uint64_t inode, uint64_t flags)
{
	struct edit edit = {
		.fd = image_fd,
		.tree_id = tree_id,
		.inode = inode,
		.flags = flags,
	};
	struct stat status;
	int ret;

	if (fstat(image_fd, &status) < 0)
		return -errno;
	ret = read_super(&edit);
	if (ret == 0)
		ret = edit_segments(&edit, status.st_size);
	if (ret < 0)
		return ret;
	return edit.found ? 0 : -ENOENT;
}
