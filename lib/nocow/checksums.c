// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/checksum-format.h"
#include "fs/tree-batch.h"
#include "nocow/checksums.h"

/* For many small items; of a larger one the size is enough. */
#define ROOM 4096

struct checksum_search {
	int fd;
	struct checksum_format format;
	struct tree_batch *batch;
	/* no checksums lie from CLEAR_FROM up to ITEM, which is a part of the disk that has them */
	uint64_t clear_from;
	struct byte_range item;
};

/* Behind the last item. */
#define NO_MORE ((struct byte_range){ UINT64_MAX, 0 })

int checksum_search_new(struct checksum_search **ret_search)
{
	struct checksum_search *search = calloc(1, sizeof(*search));
	int ret;

	if (!search)
		return -ENOMEM;
	ret = tree_batch_new(&search->batch, ROOM);
	if (ret < 0) {
		free(search);
		return ret;
	}

	*ret_search = search;
	return 0;
}

void checksum_search_free(struct checksum_search *search)
{
	if (!search)
		return;
	tree_batch_free(search->batch);
	free(search);
}

int checksum_search_start(struct checksum_search *search, int fd)
{
	struct checksum_format format;
	int ret;

	ret = checksum_format_of(fd, &format);
	if (ret < 0)
		return ret;

	search->fd = fd;
	search->format = format;
	search->clear_from = UINT64_MAX;
	search->item = NO_MORE;
	return 0;
}

/* No item covers more of the disk. */
static uint64_t longest_item(const struct checksum_format *format)
{
	return (uint64_t)(format->node_size / format->size) * format->sector_size;
}

static int place_of_item(const struct checksum_format *format, const struct tree_item *item,
			 struct byte_range *ret_place)
{
	struct byte_range place = { .offset = item->offset };

	if (item->objectid != BTRFS_EXTENT_CSUM_OBJECTID || item->type != BTRFS_EXTENT_CSUM_KEY ||
	    item->size % format->size || !item->size)
		return -EPROTO;
	place.length = (uint64_t)(item->size / format->size) * format->sector_size;
	if (place.length > longest_item(format) || byte_range_end(place) == UINT64_MAX)
		return -EPROTO;

	*ret_place = place;
	return 0;
}

static int fetch_from(struct checksum_search *search, uint64_t bytenr)
{
	const struct tree_key min = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY, bytenr };
	const struct tree_key max = { BTRFS_EXTENT_CSUM_OBJECTID, BTRFS_EXTENT_CSUM_KEY,
				      UINT64_MAX };

	return tree_batch_fetch(search->batch, search->fd, BTRFS_CSUM_TREE_OBJECTID, min, max,
				UINT32_MAX);
}

/* Reads the next item of the answer that is there; behind its last one returns 1. */
static int read_item(struct checksum_search *search)
{
	struct tree_item item;
	int ret = tree_batch_next(search->batch, &item);

	if (ret <= 0)
		return ret < 0 ? ret : 1;
	return place_of_item(&search->format, &item, &search->item);
}

static int read_item_from(struct checksum_search *search, uint64_t bytenr)
{
	int ret = fetch_from(search, bytenr);

	if (ret == 0)
		ret = read_item(search);
	if (ret <= 0)
		return ret;
	search->item = NO_MORE;
	return 0;
}

static int next_item(struct checksum_search *search)
{
	int ret = read_item(search);

	return ret > 0 ? read_item_from(search, byte_range_end(search->item)) : ret;
}

/* Starts with the items that can reach BYTENR: a search finds none that begins before it. */
static int restart(struct checksum_search *search, uint64_t bytenr)
{
	uint64_t reach = longest_item(&search->format);

	return read_item_from(search, bytenr > reach ? bytenr - reach : 0);
}

static bool is_far_behind_item(const struct checksum_search *search, uint64_t bytenr)
{
	uint64_t end = byte_range_end(search->item);

	return bytenr > end && bytenr - end > longest_item(&search->format);
}

/* Makes ITEM the first that ends behind BYTENR. */
static int seek(struct checksum_search *search, uint64_t bytenr)
{
	int ret = 0;

	if (bytenr < search->clear_from || is_far_behind_item(search, bytenr))
		ret = restart(search, bytenr);
	while (ret == 0 && byte_range_end(search->item) <= bytenr)
		ret = next_item(search);
	search->clear_from = ret < 0 ? UINT64_MAX : bytenr;
	return ret;
}

int checksum_search_find(struct checksum_search *search, struct byte_range range,
			 struct byte_range *ret_part)
{
	uint64_t end = byte_range_end(range);
	const struct byte_range *item = &search->item;
	uint64_t start, stop;
	int ret;

	ret = seek(search, range.offset);
	if (ret < 0)
		return ret;
	if (item->offset >= end)
		return 0;

	start = item->offset > range.offset ? item->offset : range.offset;
	stop = byte_range_end(*item) < end ? byte_range_end(*item) : end;
	*ret_part = (struct byte_range){ start, stop - start };
	return 1;
}
