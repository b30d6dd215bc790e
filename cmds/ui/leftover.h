/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_LEFTOVER_H
#define FASTPATH_LEFTOVER_H

#include "base/descriptor-place.h"

/* Print an error: WHAT ("what was written") could not be removed, and is at PLACE, which is freed. */
void complain_of_leftover(const char *what, struct descriptor_place *place);

#endif
