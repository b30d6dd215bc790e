// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/random-name.h"

int random_name(char *name, size_t size, const char *prefix)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(name, size, "%s%08" PRIx32, prefix, number);
	return 0;
}
