/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DURATION_H
#define FASTPATH_DURATION_H

#include <stdint.h>

#include "base/units.h"

/*
 * Write a time to TEXT as people say it, and return TEXT: "2d 3h", "1h 23min", "5min 20s", "45s",
 * "2.4s". The time is rounded to the last unit or digit that is shown. A second unit that is 0 is
 * left out. Less than a second is written as format_time() writes it.
 */
char *format_duration(char text[UNITS_TEXT_SIZE], uint64_t nanoseconds);

#endif
