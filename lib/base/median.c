// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <stdlib.h>

#include "base/median.h"

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
