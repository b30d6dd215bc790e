// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>

#include "fs/tree-search.h"
#include "sys/cleanup.h"
#include "sys/retry-ioctl.h"

/* No item is larger than the largest node size, so one always fits. */
#define ANSWER_SIZE (64 * 1024)

struct tree_search {
	int fd;
	bool end;
	size_t position;
	uint32_t items_left;
	struct btrfs_ioctl_search_key key;
	struct btrfs_ioctl_search_args_v2 *arguments;
};

int tree_search_parse(const void *buffer, size_t size, size_t *position, struct tree_item *ret_item)
{
	struct btrfs_ioctl_search_header header;
	size_t left;

	if (*position > size)
		return -EPROTO;
	left = size - *position;
	if (left < sizeof(header))
		return -EPROTO;
	memcpy(&header, (const char *)buffer + *position, sizeof(header));
	if (header.len > left - sizeof(header))
		return -EPROTO;

	*ret_item = (struct tree_item){
		.objectid = header.objectid,
		.type = header.type,
		.offset = header.offset,
		.leaf_generation = header.transid,
		.data = (const char *)buffer + *position + sizeof(header),
		.size = header.len,
	};
	*position += sizeof(header) + header.len;
	return 0;
}

int tree_search_new(struct tree_search **ret_search, int fd, uint64_t tree_id, uint64_t objectid,
		    uint32_t type, uint64_t min_offset, uint64_t max_offset)
{
	struct tree_search *search = calloc(1, sizeof(*search));

	if (!search)
		return -ENOMEM;

	search->arguments = calloc(1, sizeof(*search->arguments) + ANSWER_SIZE);
	if (!search->arguments) {
		free(search);
		return -ENOMEM;
	}
	search->fd = fd;
	search->key = (struct btrfs_ioctl_search_key){
		.tree_id = tree_id,
		.min_objectid = objectid,
		.max_objectid = objectid,
		.min_type = type,
		.max_type = type,
		.min_offset = min_offset,
		.max_offset = max_offset,
		.max_transid = UINT64_MAX,
	};

	*ret_search = search;
	return 0;
}

void tree_search_free(struct tree_search *search)
{
	if (!search)
		return;
	free(search->arguments);
	free(search);
}

static int refill(struct tree_search *search)
{
	int ret;

	if (search->end)
		return 0;

	search->arguments->key = search->key;
	search->arguments->key.nr_items = UINT32_MAX;
	search->arguments->buf_size = ANSWER_SIZE;
	ret = retry_ioctl(search->fd, BTRFS_IOC_TREE_SEARCH_V2, search->arguments,
			  sizeof(*search->arguments));
	if (ret < 0)
		return ret;

	search->position = 0;
	search->items_left = search->arguments->key.nr_items;
	return search->items_left ? 1 : 0;
}

int tree_search_next(struct tree_search *search, struct tree_item *ret_item)
{
	struct tree_item item;
	int ret;

	if (!search->items_left) {
		ret = refill(search);
		if (ret <= 0) {
			search->end = true;
			return ret;
		}
	}

	ret = tree_search_parse(search->arguments->buf, ANSWER_SIZE, &search->position, &item);
	if (ret < 0)
		goto broken;
	if (item.objectid != search->key.min_objectid || item.type != search->key.min_type ||
	    item.offset < search->key.min_offset || item.offset > search->key.max_offset)
		goto broken;

	search->items_left--;
	if (item.offset == search->key.max_offset)
		search->end = true;
	else
		search->key.min_offset = item.offset + 1;

	*ret_item = item;
	return 1;

broken:
	search->items_left = 0;
	search->end = true;
	return -EPROTO;
}

int tree_search_copy_first(int fd, uint64_t tree_id, uint64_t objectid, uint32_t type,
			   uint64_t min_offset, uint64_t max_offset, void *ret_data, size_t size)
{
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct tree_item item;
	int ret;

	ret = tree_search_new(&search, fd, tree_id, objectid, type, min_offset, max_offset);
	if (ret == 0)
		ret = tree_search_next(search, &item);
	if (ret <= 0)
		return ret < 0 ? ret : -ENOENT;
	if (item.size < size)
		return -EPROTO;
	memcpy(ret_data, item.data, size);
	return 0;
}
