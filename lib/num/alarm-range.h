/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_ALARM_RANGE_H
#define FASTPATH_ALARM_RANGE_H

#include <stdbool.h>

/*
 * The values that are good, or with IS_INVERTED those that are bad, as the development guidelines of
 * the Monitoring Plugins define a range. Both ends belong to it.
 */
struct alarm_range {
	/* can be infinite */
	double start;
	double end;
	bool is_inverted;
};

/*
 * Parse "[@][START:][END]": "10" is 0 to 10, "10:" from 10 on, "~:10" everything up to 10, and "@"
 * inverts it. Numbers are decimal, and can have a sign and a fraction.
 * Returns 0; -EINVAL if TEXT has another form or is too long to be one, or -ERANGE if START is more
 * than END or a number is too large.
 */
int alarm_range_parse(const char *text, struct alarm_range *ret_range);

/* Whether VALUE raises an alarm. */
bool alarm_range_alerts(const struct alarm_range *range, double value);

#endif
