/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NOCOW_CHECK_HINT_H
#define FASTPATH_NOCOW_CHECK_HINT_H

#include <stdbool.h>

#include "nocow/nocow.h"

/* What a user can do about a file, so that writes to it go in place. */
enum nocow_hint {
	/* nothing needs to be done, or nothing helps */
	HINT_NONE,
	HINT_COPY,
	HINT_COPY_OF_LINKS,
	HINT_SUBVOLUME,
	HINT_ROOT,
	HINT_SYNC,
	/* one of those that write, where nothing can be written */
	HINT_MOUNT,
	HINT_COUNT,
};

/* From what is known of FILE, and the SUMS of its ranges. The file system can be mounted READ_ONLY. */
enum nocow_hint nocow_hint_of(const struct nocow_file *file, const struct nocow_sums *sums,
			      bool read_only);

/* The section of the page to follow, or the command to run; NULL for HINT_NONE. */
const char *nocow_hint_text(enum nocow_hint hint);

#endif
