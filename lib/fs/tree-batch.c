// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>

#include "fs/tree-batch.h"
#include "sys/retry-ioctl.h"

struct tree_batch {
	size_t room;
	size_t position;
	uint32_t items_left;
	/* blocks of the tree that are older are skipped */
	uint64_t min_generation;
	/* of the one item that did not fit, 0 where all did */
	uint64_t oversize;
	/* the least that the next item's key can be, and the most */
	struct tree_key min;
	struct tree_key max;
	struct btrfs_ioctl_search_args_v2 *arguments;
};

int tree_key_compare(const struct tree_key *a, const struct tree_key *b)
{
	if (a->objectid != b->objectid)
		return a->objectid < b->objectid ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

int tree_batch_new(struct tree_batch **ret_batch, size_t room)
{
	struct tree_batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return -ENOMEM;
	batch->arguments = calloc(1, sizeof(*batch->arguments) + room);
	if (!batch->arguments) {
		free(batch);
		return -ENOMEM;
	}
	batch->room = room;

	*ret_batch = batch;
	return 0;
}

void tree_batch_free(struct tree_batch *batch)
{
	if (!batch)
		return;
	free(batch->arguments);
	free(batch);
}

void tree_batch_skip_older(struct tree_batch *batch, uint64_t generation)
{
	batch->min_generation = generation;
}

int tree_batch_fetch(struct tree_batch *batch, int fd, uint64_t tree_id, struct tree_key min,
		     struct tree_key max, uint32_t most)
{
	struct btrfs_ioctl_search_args_v2 *arguments = batch->arguments;
	int ret;

	arguments->key = (struct btrfs_ioctl_search_key){
		.tree_id = tree_id,
		.min_objectid = min.objectid,
		.max_objectid = max.objectid,
		.min_offset = min.offset,
		.max_offset = max.offset,
		.min_transid = batch->min_generation,
		.max_transid = UINT64_MAX,
		.min_type = min.type,
		.max_type = max.type,
		.nr_items = most,
	};
	arguments->buf_size = batch->room;
	batch->position = 0;
	batch->items_left = 0;
	batch->oversize = 0;
	batch->min = min;
	batch->max = max;

	ret = retry_ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, arguments, sizeof(*arguments));
	if (ret == -EOVERFLOW) {
		if (arguments->buf_size <= batch->room)
			return -EPROTO;
		batch->oversize = arguments->buf_size - sizeof(struct btrfs_ioctl_search_header);
		batch->items_left = 1;
		return 0;
	}
	if (ret < 0)
		return ret;
	batch->items_left = arguments->key.nr_items;
	return 0;
}

void tree_batch_clear(struct tree_batch *batch)
{
	batch->items_left = 0;
}

static int broken(struct tree_batch *batch)
{
	batch->items_left = 0;
	return -EPROTO;
}

int tree_batch_next(struct tree_batch *batch, struct tree_item *ret_item)
{
	struct tree_item item;
	struct tree_key key;

	if (!batch->items_left)
		return 0;
	if (tree_search_parse(batch->arguments->buf, batch->room, &batch->position, &item) < 0)
		return broken(batch);
	key = (struct tree_key){ item.objectid, item.type, item.offset };
	if (tree_key_compare(&key, &batch->min) < 0 || tree_key_compare(&key, &batch->max) > 0)
		return broken(batch);

	if (batch->oversize) {
		if (batch->oversize > UINT32_MAX)
			return broken(batch);
		item.data = NULL;
		item.size = batch->oversize;
	}
	batch->items_left--;
	batch->min = key;
	/* No two items have one key. */
	batch->min.offset++;

	*ret_item = item;
	return 1;
}
