// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>

#include "sys/kernel-release.h"

/* Moves *TEXT behind the number. */
static int parse_number(const char **text, unsigned int *ret_number)
{
	unsigned int number = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); ++*text) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (unsigned int)(**text - '0'), &number))
			return -EINVAL;
	}
	*ret_number = number;
	return 0;
}

int kernel_release_parse(const char *text, struct kernel_release *ret_release)
{
	struct kernel_release release;

	if (parse_number(&text, &release.version) < 0 || *text != '.')
		return -EINVAL;
	text++;
	if (parse_number(&text, &release.patchlevel) < 0 || isalpha((unsigned char)*text))
		return -EINVAL;
	*ret_release = release;
	return 0;
}

int kernel_release_compare(struct kernel_release a, struct kernel_release b)
{
	if (a.version != b.version)
		return a.version < b.version ? -1 : 1;
	return (a.patchlevel > b.patchlevel) - (a.patchlevel < b.patchlevel);
}
