/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WHOLE_SUBVOLUMES_H
#define FASTPATH_WHOLE_SUBVOLUMES_H

#include <stdint.h>

#include "fs/steady-look.h"
#include "sharing/named-set.h"

/*
 * Called now and then with the number of extents so far. Returns 0, or a negative errno that ends the
 * work.
 */
typedef int extents_progress_function(void *data, uint64_t extents);

/*
 * Add the data extents of the subvolumes that are in SET as a whole to SET, and find what was written to
 * them, if that is wanted. Snapshots have most of their leaves in common: these are read once, as long as
 * LOOK, NULL in tests, knows of nothing that moves data. Extents that another subvolume has for sure are marked,
 * and the references in leaves that no other subvolume has are counted.
 * named_set_sort_subvolumes() comes before it.
 * Returns 0, or a negative errno as space_read_subvolume(), record_sort_finish(); -ENOENT if a subvolume
 * of the set was deleted meanwhile.
 */
int whole_subvolumes_read(struct named_set *set, const struct steady_look *look,
			  extents_progress_function *progress, void *data);

#endif
