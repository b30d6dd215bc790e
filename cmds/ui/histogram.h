/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_HISTOGRAM_H
#define FASTPATH_HISTOGRAM_H

#include "base/latency.h"
#include "ui/json.h"

/* The distribution of the times of calls, as a histogram in steps of powers of two. */

/*
 * Print a row with a bar for each step from the fastest to the slowest call. WHAT is the heading of
 * the number of calls. Returns 0 or -ENOMEM.
 */
int histogram_print(const struct latency *latency, const char *what);

/* Add the array "histogram" with the steps that have a call, or null if LATENCY is NULL. */
void histogram_json(const struct latency *latency, struct json_writer *json);

#endif
