/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LOG_STATS_WATCH_H
#define FASTPATH_LOG_STATS_WATCH_H

#include <stdint.h>

#include "ui/options.h"

/*
 * Reports every INTERVAL_NS the commits since the last report, on the file system of DIRECTORY,
 * until a signal ends it. SIGINT and SIGTERM are the normal end and not an error.
 * Returns the exit status.
 */
int log_stats_watch(const char *directory, uint64_t interval_ns,
		    const struct global_options *global);

#endif
