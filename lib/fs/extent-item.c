// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

#include "fs/extent-item.h"
#include "fs/tree-batch.h"

/* Some hundred items with one reference each. */
#define ROOM (16 * 1024)
#define EXTENTS_AT_ONCE_MAX 256
/* Extents farther apart than that are not neighbours. */
#define NEAR (256ULL * 1024 * 1024)

/* With simple quotas the subvolume that pays stands before the references (Linux 6.7). */
#define OWNER_REF_KEY 172
#define OWNER_REF_SIZE (sizeof(uint8_t) + sizeof(uint64_t))

struct extent_lookup {
	int fd;
	struct tree_batch *batch;
	/* how many to ask for at once */
	uint32_t most;
	/* the item that was read last; there is no other from KNOWN_FROM up to it */
	struct tree_item item;
	bool have_item;
	uint64_t known_from;
};

static bool read_bytes(const char **data, size_t *size, void *target, size_t length)
{
	if (*size < length)
		return false;
	memcpy(target, *data, length);
	*data += length;
	*size -= length;
	return true;
}

static struct extent_ref decode_ref(const struct btrfs_extent_data_ref *ref)
{
	return (struct extent_ref){
		.root = le64_to_cpu(ref->root),
		.inode = le64_to_cpu(ref->objectid),
		.offset = le64_to_cpu(ref->offset),
	};
}

/* Steps over a reference that only says who pays. */
static void skip_owner(const char **data, size_t *size)
{
	if (*size >= OWNER_REF_SIZE && (uint8_t) * *data == OWNER_REF_KEY) {
		*data += OWNER_REF_SIZE;
		*size -= OWNER_REF_SIZE;
	}
}

int extent_item_parse(const void *data, size_t size, struct extent_item *ret_item)
{
	struct btrfs_extent_item raw;
	struct btrfs_extent_data_ref ref;
	struct extent_item item = { 0 };
	const char *rest = data;
	uint8_t type;

	if (!read_bytes(&rest, &size, &raw, sizeof(raw)) ||
	    !(btrfs_stack_extent_flags(&raw) & BTRFS_EXTENT_FLAG_DATA))
		return -EPROTO;
	item.ref_count = btrfs_stack_extent_refs(&raw);
	item.generation = le64_to_cpu(raw.generation);

	skip_owner(&rest, &size);
	item.inline_refs = rest;
	item.inline_refs_size = size;
	if (read_bytes(&rest, &size, &type, sizeof(type)) && type == BTRFS_EXTENT_DATA_REF_KEY &&
	    read_bytes(&rest, &size, &ref, sizeof(ref)) && !size) {
		item.has_sole_ref = true;
		item.sole_ref = decode_ref(&ref);
		item.sole_ref_count = le32_to_cpu(ref.count);
	}

	*ret_item = item;
	return 0;
}

bool extent_item_belongs_to(const struct extent_item *item, const struct extent_ref *ref)
{
	return item->has_sole_ref && item->ref_count == item->sole_ref_count &&
	       item->sole_ref.root == ref->root && item->sole_ref.inode == ref->inode &&
	       item->sole_ref.offset == ref->offset;
}

int extent_item_next_ref(const struct extent_item *item, size_t *position,
			 struct extent_ref *ret_ref)
{
	const char *rest = (const char *)item->inline_refs + *position;
	size_t size = item->inline_refs_size - *position;
	char by_block[sizeof(uint64_t) + sizeof(struct btrfs_shared_data_ref)];
	struct btrfs_extent_data_ref ref;
	uint8_t type;

	while (read_bytes(&rest, &size, &type, sizeof(type))) {
		if (type == BTRFS_SHARED_DATA_REF_KEY &&
		    read_bytes(&rest, &size, by_block, sizeof(by_block)))
			continue;
		if (type != BTRFS_EXTENT_DATA_REF_KEY ||
		    !read_bytes(&rest, &size, &ref, sizeof(ref)))
			return 0;
		*position = item->inline_refs_size - size;
		*ret_ref = decode_ref(&ref);
		return 1;
	}
	return 0;
}

int extent_lookup_new(struct extent_lookup **ret_lookup)
{
	struct extent_lookup *lookup = calloc(1, sizeof(*lookup));
	int ret;

	if (!lookup)
		return -ENOMEM;
	ret = tree_batch_new(&lookup->batch, ROOM);
	if (ret < 0) {
		free(lookup);
		return ret;
	}
	extent_lookup_start(lookup, -1);

	*ret_lookup = lookup;
	return 0;
}

void extent_lookup_free(struct extent_lookup *lookup)
{
	if (!lookup)
		return;
	tree_batch_free(lookup->batch);
	free(lookup);
}

void extent_lookup_start(struct extent_lookup *lookup, int fd)
{
	lookup->fd = fd;
	lookup->most = 1;
	lookup->have_item = false;
}

static int next_item(struct extent_lookup *lookup)
{
	int ret = tree_batch_next(lookup->batch, &lookup->item);

	lookup->have_item = ret > 0;
	return ret;
}

/* Goes on to the first item at BYTENR or behind it in the answer that is there. */
static int skip_to(struct extent_lookup *lookup, uint64_t bytenr)
{
	int ret = lookup->have_item;

	while (ret > 0 &&
	       (lookup->item.objectid < bytenr || lookup->item.type != BTRFS_EXTENT_ITEM_KEY)) {
		/* There is no way back. */
		lookup->known_from = lookup->item.objectid + 1;
		ret = next_item(lookup);
	}
	return ret;
}

static int fetch_from(struct extent_lookup *lookup, uint64_t bytenr)
{
	const struct tree_key min = { bytenr, BTRFS_EXTENT_ITEM_KEY, 0 };
	const struct tree_key max = { UINT64_MAX, UINT8_MAX, UINT64_MAX };
	int ret;

	lookup->have_item = false;
	ret = tree_batch_fetch(lookup->batch, lookup->fd, BTRFS_EXTENT_TREE_OBJECTID, min, max,
			       lookup->most);
	return ret < 0 ? ret : next_item(lookup);
}

static int seek(struct extent_lookup *lookup, uint64_t bytenr)
{
	uint64_t last = lookup->item.objectid;
	bool known = lookup->have_item && bytenr >= lookup->known_from;
	int ret;

	if (known) {
		ret = skip_to(lookup, bytenr);
		if (ret)
			return ret;
		last = lookup->item.objectid;
	}
	/* What continues may go on doing so. */
	if (!known || bytenr - last > NEAR)
		lookup->most = 1;
	else if (lookup->most < EXTENTS_AT_ONCE_MAX)
		lookup->most *= 2;

	lookup->known_from = bytenr;
	ret = fetch_from(lookup, bytenr);
	return ret > 0 ? skip_to(lookup, bytenr) : ret;
}

int extent_lookup_find(struct extent_lookup *lookup, uint64_t bytenr, struct extent_item *ret_item)
{
	const struct tree_item *item = &lookup->item;
	int ret;

	ret = seek(lookup, bytenr);
	if (ret <= 0)
		return ret;
	if (item->objectid != bytenr || item->type != BTRFS_EXTENT_ITEM_KEY)
		return 0;
	if (!item->data)
		return -EPROTO;
	ret = extent_item_parse(item->data, item->size, ret_item);
	if (ret == 0 && ret_item->generation > item->leaf_generation)
		ret = -EPROTO;
	return ret < 0 ? ret : 1;
}
