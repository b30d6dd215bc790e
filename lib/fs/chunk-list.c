// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/chunk-list.h"
#include "sys/cleanup.h"

struct chunk_list {
	size_t count;
	size_t room;
	/* in ascending order of addresses */
	struct chunk *chunks;
};

int chunk_parse(const struct tree_item *item, struct chunk *ret_chunk)
{
	struct btrfs_chunk chunk;
	uint64_t end;

	/* It has one stripe at least. */
	if (item->size < sizeof(chunk))
		return -EPROTO;
	memcpy(&chunk, item->data, sizeof(chunk));
	if (__builtin_add_overflow(item->offset, le64toh(chunk.length), &end))
		return -EPROTO;
	*ret_chunk = (struct chunk){
		.bytenr = item->offset,
		.length = le64toh(chunk.length),
		.type = le64toh(chunk.type),
		.device_id = le64toh(chunk.stripe.devid),
	};
	return 0;
}

static int add(struct chunk_list *list, const struct tree_item *item)
{
	size_t room = list->room ? 2 * list->room : 64;
	struct chunk *chunks;

	if (list->count == list->room) {
		chunks = reallocarray(list->chunks, room, sizeof(*chunks));
		if (!chunks)
			return -ENOMEM;
		list->chunks = chunks;
		list->room = room;
	}
	return chunk_parse(item, &list->chunks[list->count++]);
}

int chunk_list_read(int fd, struct chunk_list **ret_list)
{
	CLEANUP(chunk_list_freep) struct chunk_list *list = calloc(1, sizeof(*list));
	CLEANUP(tree_search_freep) struct tree_search *search = NULL;
	struct tree_item item;
	int ret;

	if (!list)
		return -ENOMEM;
	ret = tree_search_new(&search, fd, BTRFS_CHUNK_TREE_OBJECTID,
			      BTRFS_FIRST_CHUNK_TREE_OBJECTID, BTRFS_CHUNK_ITEM_KEY, 0, UINT64_MAX);
	while (ret == 0 && (ret = tree_search_next(search, &item)) > 0)
		ret = add(list, &item);
	if (ret < 0)
		return ret;
	*ret_list = list;
	list = NULL;
	return 0;
}

void chunk_list_free(struct chunk_list *list)
{
	if (!list)
		return;
	free(list->chunks);
	free(list);
}

const struct chunk *chunk_list_find(const struct chunk_list *list, uint64_t bytenr)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct chunk *chunk = &list->chunks[middle];

		if (bytenr < chunk->bytenr)
			high = middle;
		else if (bytenr - chunk->bytenr >= chunk->length)
			low = middle + 1;
		else
			return chunk;
	}
	return NULL;
}
