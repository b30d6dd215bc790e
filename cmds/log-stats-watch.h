/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_WATCH_H
#define FASTPATH_LOG_STATS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Tells, every INTERVAL_NS, what was committed on the file system of DIRECTORY since, until a
 * signal asks it to end. SIGINT and SIGTERM are the end that its user wants.
 * Returns the exit status.
 */
int log_stats_watch(const char *directory, uint64_t interval_ns, bool as_json);

#endif
