/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FREED_SPACE_H
#define FASTPATH_FREED_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sharing/named-set.h"

/* What a set has on disk, and what is freed if all of it is deleted. In logical bytes. */
struct freed_space {
	/* data extents to which a file of the set refers, each once */
	uint64_t disk_bytes;
	/* data extents to which nothing else refers, and the others of the set */
	uint64_t freed_bytes;
	uint64_t kept_bytes;
	/* what is freed on the devices, with all copies; not set if it is not simply a multiple */
	bool has_raw_bytes;
	uint64_t freed_raw_bytes;
	/* an estimate */
	uint64_t freed_metadata_bytes;
	/* extents with more references than the kernel lists; they count as kept if it is not clear */
	uint64_t incomplete_count;
};

struct freed_space_ops {
	/* called now and then, during the lookups */
	void (*progress)(void *data, uint64_t extents_asked);
	/* before them, while the trees of whole subvolumes are read */
	void (*reading)(void *data, uint64_t tree_bytes);
};

/*
 * Judge SET, to which nothing can be added after that. If the set is not judged, only disk_bytes is
 * found; that needs no lookups. Memory is one bit for each data extent, besides that of SET. If a
 * temporary file failed, *RET_FAILED_IN is its directory, which the caller frees, else NULL.
 * Returns 0, or a negative errno as backref_query_extent(), tree_search_next(), record_sort_finish().
 */
int freed_space_find(struct named_set *set, const struct freed_space_ops *ops, void *data,
		     struct freed_space *ret_space, char **ret_failed_in);

#endif
