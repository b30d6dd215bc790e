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

static size_t digit_count(uint64_t number)
{
	size_t count = 1;

	while (number /= 10)
		count++;
	return count;
}

size_t decimal_write(char text[DECIMAL_TEXT_SIZE], uint64_t number)
{
	size_t length = digit_count(number);

	text[length] = '\0';
	for (size_t i = length; i > 0; number /= 10)
		text[--i] = '0' + number % 10;
	return length;
}
