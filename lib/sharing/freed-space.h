/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FREED_SPACE_H
#define FASTPATH_FREED_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/steady-look.h"
#include "sharing/named-set.h"
#include "sharing/whole-subvolumes.h"

/* What a set has on disk, and what is freed if all of it is deleted. In logical bytes. */
struct freed_space {
	/* data extents to which a file of the set refers, each once */
	uint64_t disk_bytes;
	/* the set is judged: what follows is known */
	bool has_freed;
	/* data extents to which nothing else refers, and the others of the set */
	uint64_t freed_bytes;
	uint64_t kept_bytes;
	/* those that are neither, since they are on a device that is not writable */
	uint64_t read_only_bytes;
	/* what is freed on the devices, with all copies; not set if it is not simply a multiple */
	bool has_raw_bytes;
	uint64_t freed_raw_bytes;
	/* extents with more references than the kernel lists: freed or kept */
	uint64_t incomplete_count;
	uint64_t uncertain_bytes;
	/* extents without a reference, with a copy by a relocation, or of a subvolume that is gone */
	uint64_t moved_count;
	/* of all extents and who refers to them, wherever they are: the same for two looks at one state */
	uint64_t digest;
};

struct freed_space_ops {
	/* during the lookups */
	extents_progress_function *progress;
	/* before them, while the trees of whole subvolumes are read */
	extents_progress_function *reading;
};

/*
 * Judge SET and its arguments. Nothing can be added to it after that; LOOK, NULL in tests, began before
 * it. If the set is not judged, only disk_bytes is found; that needs no lookups unless extents are being
 * moved. Memory is bounded, besides that of SET. If a temporary file failed, *RET_FAILED_IN is its
 * directory, which the caller frees, else NULL.
 * Returns 0, or a negative errno as backref_query_extent(), tree_search_next(), record_sort_finish().
 */
int freed_space_find(struct named_set *set, const struct steady_look *look,
		     const struct freed_space_ops *ops, void *data, struct freed_space *ret_space,
		     char **ret_failed_in);

#endif
