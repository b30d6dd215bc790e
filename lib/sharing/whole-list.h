/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WHOLE_LIST_H
#define FASTPATH_WHOLE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "fs/steady-look.h"
#include "sharing/named-set.h"
#include "sharing/snapshot-chains.h"

/* A subvolume that is in the set as a whole. Generations are those of the leaves of its tree. */
struct whole_subvolume {
	struct named_subvolume *named;
	/* NULL if it was made or deleted meanwhile */
	const struct family_member *member;
	/* when its root was created, which snapshots have from their origin; 0: unknown */
	uint64_t birth_ns;
	/* older leaves are also in a subvolume of the list before it; newer ones are in none of these */
	uint64_t shared_before;
	uint64_t newest_before;
	/* newer leaves are in no subvolume that is not in the list, except perhaps in a later one if it HAS_LATER */
	uint64_t newest_outside;
	bool has_later;
	/* leaves up to this generation do not count in those of the list before it */
	uint64_t newest_uncounted;
};

/*
 * A subvolume that is not in the set. It may be the only such one that has a leaf in common with one of the
 * list, which was changed before it.
 */
struct later_subvolume {
	const struct family_member *member;
	uint32_t filesystem;
	/* older leaves are also in another later one before it */
	uint64_t shared_before;
};

struct whole_list {
	/* by file system; those without a member, then the others as their trees were changed last */
	struct whole_subvolume *wholes;
	size_t count;
	/* by file system, and in the order in which their trees were changed last */
	struct later_subvolume *later;
	size_t later_count;
	/* of the same; NULL if some of their files were named before, or while leaves are moving */
	struct snapshot_chains *chains;
};

/*
 * List the subvolumes that are in SET as a whole; freed with whole_list_free(), also after an error. LOOK as
 * for whole_subvolumes_read(). It takes a lookup for each of them, and for each other subvolume of their file
 * systems that is not known as a near relative.
 * Returns 0, or a negative errno as tree_search_next(), -ENOMEM; -ENOENT if one was deleted meanwhile.
 */
int whole_list_make(struct whole_list *list, const struct named_set *set,
		    const struct steady_look *look);
void whole_list_free(struct whole_list *list);

/* Whether something moves extents and leaves: a relocation replaces a leaf in one tree after the other. */
bool are_leaves_moving(const struct named_set *set, const struct steady_look *look,
		       uint32_t filesystem);

#endif
