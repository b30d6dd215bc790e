// SPDX-License-Identifier: GPL-2.0-only
/* An input is an item of the extent tree. */
#include "config.h"

#include "fs/extent-item.h"
#include "fuzz.h"
#include "sys/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE char *bytes = fuzz_copy(data, size);
	struct extent_item item = { .ref_count = 99 };
	struct extent_ref ref;
	size_t position = 0, last;

	if (extent_item_parse(bytes, size, &item) < 0) {
		INVARIANT(item.ref_count == 99);
		return 0;
	}
	INVARIANT(item.has_sole_ref || !item.sole_ref_count);
	ref = item.sole_ref;
	INVARIANT(extent_item_belongs_to(&item, &ref) ==
		  (item.has_sole_ref && item.ref_count == item.sole_ref_count));
	ref.inode++;
	INVARIANT(!extent_item_belongs_to(&item, &ref));
	for (last = 0; extent_item_next_ref(&item, &position, &ref); last = position)
		INVARIANT(position > last && position <= item.inline_refs_size);
	return 0;
}
