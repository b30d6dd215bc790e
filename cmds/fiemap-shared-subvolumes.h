/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_SUBVOLUMES_H
#define FASTPATH_FIEMAP_SHARED_SUBVOLUMES_H

#include "fiemap-shared-scan.h"

/*
 * With --subvolumes: takes each path as a whole subvolume, and looks at none of its files. Returns as
 * files_each().
 */
int fiemap_shared_take_subvolumes(struct sharing_scan *scan);

#endif
