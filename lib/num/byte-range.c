// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/byte-range.h"

uint64_t byte_range_end(struct byte_range range)
{
	uint64_t end;

	return __builtin_add_overflow(range.offset, range.length, &end) ? UINT64_MAX : end;
}

struct byte_range byte_range_cut(struct byte_range range, uint64_t size)
{
	if (range.offset >= size)
		range.length = 0;
	else if (byte_range_end(range) > size)
		range.length = size - range.offset;
	return range;
}
