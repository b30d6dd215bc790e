// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "text/decimal.h"

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

size_t decimal_write(char text[DECIMAL_TEXT_SIZE], uint64_t number)
{
	char digits[DECIMAL_TEXT_SIZE];
	size_t first = sizeof(digits);

	digits[--first] = '\0';
	do
		digits[--first] = '0' + number % 10;
	while (number /= 10);
	memcpy(text, digits + first, sizeof(digits) - first);
	return sizeof(digits) - 1 - first;
}
