/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SOLE_OWNER_H
#define FASTPATH_SOLE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/extent-item.h"
#include "sharing/snapshot-family.h"

/*
 * Whether the extent tree tells that one file alone refers to the data extent at BYTENR; if so,
 * *RET_REF is one of its references. This costs far less than backref_query_extent(), above all if the
 * extents come in the order of their addresses. It is false wherever that call is needed: if there
 * are several references, if a snapshot can share the block with the reference, and if the tree
 * cannot be read. References of the running transaction need not be in the tree yet.
 * FAMILIES are those of the file system of LOOKUP.
 */
bool find_sole_owner(struct extent_lookup *lookup, const struct snapshot_families *families,
		     uint64_t bytenr, struct extent_ref *ret_ref);

#endif
