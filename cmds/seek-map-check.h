/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_CHECK_H
#define FASTPATH_SEEK_MAP_CHECK_H

#include "seek-map.h"

/*
 * --check: reports where the file's segments are not what FIEMAP tells, and with data which holes
 * do not read as zeros; the exit status tells of it. Returns 0 or a negative errno.
 */
int seek_map_report_check(struct details *details);

#endif
