/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_QUOTED_NAME_H
#define FASTPATH_QUOTED_NAME_H

#include "base/cleanup.h"

/*
 * NAME for a message, as quote_name() returns it; "?" if NAME is NULL or memory ran out.
 * Freed with quoted_name_free(), or by CLEANUP_QUOTED_NAME.
 */
const char *quoted_name(const char *name);
void quoted_name_free(const char *quoted);
void quoted_name_freep(const char **quoted);

#define CLEANUP_QUOTED_NAME CLEANUP(quoted_name_freep)

#endif
