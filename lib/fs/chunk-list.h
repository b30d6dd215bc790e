/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_CHUNK_LIST_H
#define FASTPATH_CHUNK_LIST_H

#include <stdint.h>

#include "fs/tree-search.h"
#include "sys/cleanup.h"

/* Where a range of addresses is on the devices. */
struct chunk {
	uint64_t bytenr;
	uint64_t length;
	/* BTRFS_BLOCK_GROUP_*: what it holds, and its profile */
	uint64_t type;
	/* the device of its first stripe */
	uint64_t device_id;
};

/*
 * Decode ITEM, of type BTRFS_CHUNK_ITEM_KEY. Returns 0, or -EPROTO if it is too short, or reaches
 * beyond the end of all addresses. Rests on struct btrfs_chunk (linux/btrfs_tree.h).
 */
int chunk_parse(const struct tree_item *item, struct chunk *ret_chunk);

struct chunk_list;

/*
 * Read all chunks of the file system of FD: 32 bytes of memory for each.
 * Returns 0, -EPERM without CAP_SYS_ADMIN, -ENOMEM, or a negative errno as tree_search_next(). Freed
 * with chunk_list_free(). Rests on the chunk tree.
 */
int chunk_list_read(int fd, struct chunk_list **ret_list);
void chunk_list_free(struct chunk_list *list);
DEFINE_FREEP(chunk_list_free, struct chunk_list)

/* The chunk that holds BYTENR, or NULL. */
const struct chunk *chunk_list_find(const struct chunk_list *list, uint64_t bytenr);

#endif
