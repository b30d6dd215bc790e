// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fs/tree-range.h"
#include "sys/cleanup.h"

/* No item is larger than the largest node size, so one always fits. */
#define ROOM (64 * 1024)

struct tree_range {
	int fd;
	uint64_t tree_id;
	/* the least key that the next item can have, and the last one */
	struct tree_key min;
	struct tree_key max;
	bool end;
	struct tree_batch *batch;
};

int tree_range_new(struct tree_range **ret_range)
{
	struct tree_range *range = calloc(1, sizeof(*range));
	int ret;

	if (!range)
		return -ENOMEM;
	ret = tree_batch_new(&range->batch, ROOM);
	if (ret < 0) {
		free(range);
		return ret;
	}
	range->end = true;

	*ret_range = range;
	return 0;
}

void tree_range_free(struct tree_range *range)
{
	if (!range)
		return;
	tree_batch_free(range->batch);
	free(range);
}

void tree_range_start(struct tree_range *range, int fd, uint64_t tree_id, struct tree_key min,
		      struct tree_key max)
{
	range->fd = fd;
	range->tree_id = tree_id;
	range->min = min;
	range->max = max;
	range->end = false;
	tree_batch_skip_older(range->batch, 0);
	tree_batch_clear(range->batch);
}

void tree_range_skip_older(struct tree_range *range, uint64_t generation)
{
	tree_batch_skip_older(range->batch, generation);
}

/* Makes KEY the next one. Returns false if there is none. */
static bool step(struct tree_key *key)
{
	if (++key->offset)
		return true;
	if (key->type < UINT8_MAX) {
		key->type++;
		return true;
	}
	key->type = 0;
	return ++key->objectid != 0;
}

static int next_item(struct tree_range *range, struct tree_item *ret_item)
{
	int ret = tree_batch_next(range->batch, ret_item);

	if (ret)
		return ret;
	ret = tree_batch_fetch(range->batch, range->fd, range->tree_id, range->min, range->max,
			       UINT32_MAX);
	return ret < 0 ? ret : tree_batch_next(range->batch, ret_item);
}

int tree_range_next(struct tree_range *range, struct tree_item *ret_item)
{
	struct tree_item item;
	int ret;

	if (range->end)
		return 0;
	ret = next_item(range, &item);
	if (ret > 0 && !item.data)
		ret = -EPROTO;
	if (ret <= 0) {
		range->end = true;
		return ret;
	}

	range->min = (struct tree_key){ item.objectid, item.type, item.offset };
	range->end = tree_key_compare(&range->min, &range->max) >= 0 || !step(&range->min);
	*ret_item = item;
	return 1;
}

int tree_range_each(int fd, uint64_t tree_id, struct tree_key min, struct tree_key max,
		    int (*take)(void *data, const struct tree_item *item), void *data)
{
	CLEANUP(tree_range_freep) struct tree_range *range = NULL;
	struct tree_item item;
	int ret;

	ret = tree_range_new(&range);
	if (ret < 0)
		return ret;
	tree_range_start(range, fd, tree_id, min, max);
	while ((ret = tree_range_next(range, &item)) > 0) {
		ret = take(data, &item);
		if (ret < 0)
			return ret;
	}
	return ret;
}
