// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "num/quartiles.h"

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

struct quartiles quartiles_of(uint64_t *values, size_t count)
{
	/* sorts them, too */
	uint64_t middle = median(values, count);

	return (struct quartiles){ values[count / 4], middle, values[count - 1 - count / 4] };
}
