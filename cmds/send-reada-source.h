/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_SOURCE_H
#define FASTPATH_SEND_READA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"
#include "fs/subvolume.h"
#include "send/send-subvolume.h"

/* A read-only subvolume that was named. */
struct opened_subvolume {
	const char *path;
	int fd;
	uint64_t subvolid;
	uint8_t fsid[FSID_SIZE];
	struct subvolume_root root;
};

/* What is to be sent, and what the kernel may refer to. */
struct send_source {
	struct opened_subvolume subvolume;
	struct opened_subvolume parent;
	struct opened_subvolume *clones;
	size_t clone_count;
	/* of the parent, if there is one, and of the clones */
	uint64_t *clone_ids;
};

/*
 * Opens the subvolume PATH, PARENT if not NULL, and CLONE_COUNT CLONES. Without a parent but with
 * clones, the parent is chosen among them as btrfs send does it. Also where it fails, SOURCE is
 * closed with send_source_close(). Returns 0; or -1, and complains of what cannot be sent.
 */
int send_source_open(struct send_source *source, const char *path, const char *parent,
		     const char *const *clones, size_t clone_count);
void send_source_close(struct send_source *source);

/* What to ask the kernel for; it is valid as long as SOURCE is open. How, the caller says. */
struct send_request send_source_request(const struct send_source *source);

#endif
