// SPDX-License-Identifier: GPL-2.0-only
/* An input is the buffer of BTRFS_IOC_TREE_SEARCH_V2. */
#include "config.h"

#include "fs/file-extent.h"
#include "fs/inode-flags.h"
#include "fs/tree-search.h"
#include "fuzz.h"
#include "sys/cleanup.h"

static void check_file_extent(const struct tree_item *item)
{
	/* out of its surroundings, whose bytes must not be read for its own */
	CLEANUP_FREE void *data = fuzz_copy(item->data, item->size);
	struct tree_item alone = *item;
	struct file_extent extent;

	alone.data = data;
	if (file_extent_parse(&alone, &extent) < 0)
		return;
	INVARIANT(extent.offset == item->offset);
	INVARIANT(extent.leaf_generation == item->leaf_generation);
	INVARIANT(extent.offset + extent.length >= extent.offset);
	INVARIANT(!extent.is_inline || (!extent.disk_bytenr && !extent.is_prealloc));
}

static void check_inode_flags(const struct tree_item *item)
{
	CLEANUP_FREE void *data = fuzz_copy(item->data, item->size);
	struct tree_item alone = *item;
	uint32_t flags = 99;

	alone.data = data;
	if (inode_flags_parse(&alone, &flags) < 0)
		INVARIANT(flags == 99);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *buffer = fuzz_copy(data, size);
	struct tree_item item;
	size_t position = 0;

	for (;;) {
		size_t start = position;
		const char *item_start;

		if (tree_search_parse(buffer, size, &position, &item) < 0) {
			INVARIANT(position == start);
			return 0;
		}
		item_start = item.data;
		INVARIANT(item_start > buffer + start);
		INVARIANT(item_start + item.size == buffer + position);
		INVARIANT(position <= size);
		check_file_extent(&item);
		check_inode_flags(&item);
	}
}
