// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/inode-names.h"
#include "fs/tree-range.h"

/* Both kinds of items have a name behind a structure of this size, which SIZE bytes must contain. */
static int take_name(const char *data, size_t size, size_t header_size, size_t length,
		     struct inode_name *ret_name)
{
	if (size - header_size < length)
		return -EPROTO;
	ret_name->name = data + header_size;
	ret_name->length = length;
	return 1;
}

static int parse_ref(const struct tree_item *item, const char *data, size_t size,
		     struct inode_name *ret_name)
{
	struct btrfs_inode_ref ref;

	if (size < sizeof(ref))
		return -EPROTO;
	memcpy(&ref, data, sizeof(ref));
	ret_name->parent = item->offset;
	return take_name(data, size, sizeof(ref), le16toh(ref.name_len), ret_name);
}

static int parse_extref(const char *data, size_t size, struct inode_name *ret_name)
{
	const size_t header_size = offsetof(struct btrfs_inode_extref, name);
	struct btrfs_inode_extref ref;

	if (size < header_size)
		return -EPROTO;
	memcpy(&ref, data, header_size);
	ret_name->parent = le64toh(ref.parent_objectid);
	return take_name(data, size, header_size, le16toh(ref.name_len), ret_name);
}

int inode_name_parse(const struct tree_item *item, size_t *position, struct inode_name *ret_name)
{
	const char *data = (const char *)item->data + *position;
	size_t size = item->size - *position;
	struct inode_name name = { 0 };
	int ret;

	if (!size || (item->type != BTRFS_INODE_REF_KEY && item->type != BTRFS_INODE_EXTREF_KEY))
		return 0;
	ret = item->type == BTRFS_INODE_REF_KEY ? parse_ref(item, data, size, &name) :
						  parse_extref(data, size, &name);
	if (ret < 0)
		return ret;
	*position += name.name + name.length - data;
	*ret_name = name;
	return 1;
}

struct name_reading {
	int (*take)(void *data, const struct inode_name *name);
	void *data;
};

static int take_item(void *data, const struct tree_item *item)
{
	const struct name_reading *reading = data;
	struct inode_name name;
	size_t position = 0;
	int ret;

	while ((ret = inode_name_parse(item, &position, &name)) > 0) {
		ret = reading->take(reading->data, &name);
		if (ret < 0)
			return ret;
	}
	return ret;
}

int inode_names_each(int fd, uint64_t subvolid, uint64_t inode,
		     int (*take)(void *data, const struct inode_name *name), void *data)
{
	const struct tree_key min = { .objectid = inode, .type = BTRFS_INODE_REF_KEY };
	const struct tree_key max = {
		.objectid = inode,
		.type = BTRFS_INODE_EXTREF_KEY,
		.offset = UINT64_MAX,
	};

	return tree_range_each(fd, subvolid, min, max, take_item,
			       &(struct name_reading){ take, data });
}
