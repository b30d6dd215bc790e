// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <unistd.h>

#include "base/own-link.h"
#include "ui/front-end.h"

#if defined(FRONT_END_IN_BINDIR) && !defined(FRONT_END_APART)

const char front_end_path[] = FRONT_END_DIR "/btrfs";
const bool front_end_is_fixed = true;
const struct front_end_link front_end_links[] = { { 0 } };
const size_t front_end_link_count = 0;

#else

#define LOCAL "/usr/local"

const char front_end_path[] = LOCAL "/bin/btrfs";
const bool front_end_is_fixed = false;
const struct front_end_link front_end_links[FRONT_END_LINKS_MAX] = {
	{ front_end_path, FRONT_END_DIR "/btrfs", 0 },
	{ LOCAL "/share/bash-completion/completions/btrfs", PKGDATADIR "/bash-completion/btrfs",
	  2 },
	{ "/etc/bash_completion.d/btrfs-front-end", PKGDATADIR "/bash-completion/btrfs-front-end",
	  1 },
};
const size_t front_end_link_count = sizeof(front_end_links) / sizeof(front_end_links[0]);

#endif

bool front_end_is_enabled(void)
{
	enum own_link_state state;

	if (front_end_is_fixed)
		return access(front_end_path, X_OK) == 0;
	return own_link_look(front_end_path, front_end_links[0].target, &state) == 0 &&
	       state == OWN_LINK_PRESENT && access(front_end_path, X_OK) == 0;
}
