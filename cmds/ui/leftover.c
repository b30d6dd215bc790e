// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "ui/leftover.h"
#include "ui/message.h"
#include "ui/quoted-name.h"

void complain_of_leftover(const char *what, struct descriptor_place *place)
{
	CLEANUP_FREE char *path = place->path;
	CLEANUP_QUOTED_NAME const char *quoted = quoted_name(path);

	error("%s is left behind as inode %" PRIu64 "%s%s", what, place->inode, path ? ", " : "",
	      path ? quoted : "");
}
