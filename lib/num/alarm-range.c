// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/alarm-range.h"

/* More than any number that is meant, and little enough to be exact. */
#define NUMBER_MAX 1e15

/*
 * The number at *TEXT, and *TEXT after it. strtod() takes blanks, exponents, hexadecimal numbers and
 * names of others, too.
 */
static int parse_number(const char **text, double *ret_number)
{
	const char *digits = *text + (**text == '-' || **text == '+');
	size_t length = strspn(digits, "0123456789.");
	char *end;

	if (!isdigit((unsigned char)*digits))
		return -EINVAL;
	*ret_number = strtod(*text, &end);
	if (end != digits + length)
		return -EINVAL;
	*text = end;
	return fabs(*ret_number) <= NUMBER_MAX ? 0 : -ERANGE;
}

/* "~" or a number, and the colon */
static int parse_start(const char **text, double *ret_start)
{
	int ret = 0;

	if (**text == '~') {
		*ret_start = -INFINITY;
		(*text)++;
	} else if (**text != ':') {
		ret = parse_number(text, ret_start);
	}
	if (ret == 0 && *(*text)++ != ':')
		ret = -EINVAL;
	return ret;
}

int alarm_range_parse(const char *text, struct alarm_range *ret_range)
{
	struct alarm_range range = { .end = INFINITY, .is_inverted = *text == '@' };
	int ret = 0;

	text += range.is_inverted;
	if (!*text)
		return -EINVAL;
	if (strchr(text, ':'))
		ret = parse_start(&text, &range.start);
	if (ret == 0 && *text)
		ret = parse_number(&text, &range.end);
	if (ret < 0)
		return ret;
	if (*text)
		return -EINVAL;
	if (range.start > range.end)
		return -ERANGE;
	*ret_range = range;
	return 0;
}

bool alarm_range_alerts(const struct alarm_range *range, double value)
{
	bool is_inside = value >= range->start && value <= range->end;

	return is_inside == range->is_inverted;
}
