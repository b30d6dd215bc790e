/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_TARGET_H
#define FASTPATH_SEND_READA_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/record.h"

/* Where a stream is to be received, with --target. */
struct send_target {
	/* NULL without the option */
	const char *directory;
	/* unknown if the stream needs no parent */
	enum answer has_parent;
	/* DIRECTORY is mounted from a directory above the parent, where btrfs receive looks */
	bool is_reachable;
	/* the parent's path from the top level, or NULL; freed by the caller */
	char *parent_path;
};

/*
 * Look for the parent PARENT_UUID of a stream at TARGET as btrfs receive does: a subvolume that was received
 * with this UUID, or that has it. Returns 0, or -1 after printing an error.
 */
int send_target_find(struct send_target *target, const uint8_t *parent_uuid);

/* Whether btrfs receive would fail, because it cannot find the parent. */
bool send_target_lacks_parent(const struct send_target *target);

#endif
