// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "base/median.h"
#include "base/quartiles.h"

struct quartiles quartiles_of(uint64_t *values, size_t count)
{
	/* sorts them, too */
	uint64_t middle = median(values, count);

	return (struct quartiles){ values[count / 4], middle, values[count - 1 - count / 4] };
}
