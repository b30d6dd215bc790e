/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_HISTOGRAM_H
#define FASTPATH_HISTOGRAM_H

#include "base/latency.h"
#include "ui/json.h"

/* How the times of calls are spread: a histogram in steps of powers of two. */

/*
 * Print a row with a bar for each step from the fastest to the slowest call; WHAT was called is
 * the heading of their number. Returns 0 or -ENOMEM.
 */
int histogram_print(const struct latency *latency, const char *what);

/* The array "histogram" of the steps with a call in them, null if LATENCY is NULL. */
void histogram_json(const struct latency *latency, struct json_writer *json);

#endif
