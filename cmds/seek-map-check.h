/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEEK_MAP_CHECK_H
#define FASTPATH_SEEK_MAP_CHECK_H

#include "seek-map.h"

/*
 * --check: reports where lseek and FIEMAP disagree about the file; --check=data also reports holes
 * that do not read as zeros. A difference sets the exit status. Returns 0 or a negative errno.
 */
int seek_map_report_check(struct details *details);

#endif
