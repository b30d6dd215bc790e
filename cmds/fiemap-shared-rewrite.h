/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_REWRITE_H
#define FASTPATH_FIEMAP_SHARED_REWRITE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "fiemap-shared-options.h"
#include "sharing/freed-space.h"
#include "sharing/sharing.h"
#include "ui/record.h"

/* --rewrite: what copies that replace all files would gain. SPACE is NULL if unknown. */

/* JSON: adds the member "rewrite". */
void fiemap_shared_rewrite_json(struct output *out, const struct sharing_options *arguments,
				const struct sharing *total, const struct freed_space *space);

/*
 * Whether a plain copy of the file FD can replace it. It loses the attribute NOCOW, and other links still
 * refer to the old file.
 */
bool fiemap_shared_can_be_copied(int fd, const struct stat *status);

/* Text. The only file CAN_BE_COPIED, as above; false if there are several. */
void fiemap_shared_rewrite_say(const struct output *out, const struct sharing_options *arguments,
			       const struct sharing *total, const struct freed_space *space,
			       bool can_be_copied);

#endif
