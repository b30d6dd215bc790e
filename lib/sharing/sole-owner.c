// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "sharing/sole-owner.h"

bool find_sole_owner(struct extent_lookup *lookup, const struct snapshot_families *families,
		     uint64_t bytenr, struct extent_ref *ret_ref)
{
	const struct family_member *member;
	struct extent_item item;

	if (extent_lookup_find(lookup, bytenr, &item) <= 0)
		return false;
	if (!item.has_sole_ref || item.ref_count != item.sole_ref_count)
		return false;
	member = snapshot_families_find(families, item.sole_ref.root);
	if (!member || item.generation <= member->last_snapshot)
		return false;

	*ret_ref = item.sole_ref;
	return true;
}
