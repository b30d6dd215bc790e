/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SNAPSHOT_FAMILY_H
#define FASTPATH_SNAPSHOT_FAMILY_H

#include <stddef.h>
#include <stdint.h>

/* A subvolume or snapshot that exists. */
struct family_member {
	uint64_t subvolid;
	/* a block that was written later belongs to this tree alone */
	uint64_t last_snapshot;
};

struct snapshot_families;

/*
 * Reads all subvolumes of the file system of FD from the root tree. Memory grows with their number.
 * Returns 0, or a negative errno as tree_search_next(); freed with snapshot_families_free().
 * Rests on struct btrfs_root_item.
 */
int snapshot_families_read(struct snapshot_families **ret_families, int fd);
void snapshot_families_free(struct snapshot_families *families);
void snapshot_families_freep(struct snapshot_families **families);

/* Returns NULL if there is no such subvolume. It is valid as long as FAMILIES. */
const struct family_member *snapshot_families_find(const struct snapshot_families *families,
						   uint64_t subvolid);

#endif
