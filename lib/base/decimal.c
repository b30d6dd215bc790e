// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>

#include "base/decimal.h"

bool decimal_read(const char **text, const char *end, uint64_t *ret_number)
{
	const char *at = *text;
	uint64_t number = 0;

	for (; at < end && isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return false;
	if (at == *text)
		return false;

	*text = at;
	*ret_number = number;
	return true;
}
