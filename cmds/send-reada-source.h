/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_READA_SOURCE_H
#define FASTPATH_SEND_READA_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "fs/filesystem.h"
#include "fs/subvolume.h"
#include "send/send-subvolume.h"

/* A read-only subvolume that the user named. */
struct opened_subvolume {
	const char *path;
	int fd;
	uint64_t subvolid;
	uint8_t fsid[FSID_SIZE];
	struct subvolume_root root;
};

/* The subvolume to send, and those that the stream can refer to. */
struct send_source {
	struct opened_subvolume subvolume;
	struct opened_subvolume parent;
	struct opened_subvolume *clones;
	size_t clone_count;
	/* the ids of the parent, if there is one, and of the clones */
	uint64_t *clone_ids;
};

/*
 * Opens the subvolume PATH, PARENT if not NULL, and CLONE_COUNT CLONES. Without a parent but with
 * clones it chooses the parent among the clones, as btrfs send does. Returns 0, or -1 after
 * printing an error. SOURCE is closed with send_source_close(), also after an error.
 */
int send_source_open(struct send_source *source, const char *path, const char *parent,
		     const char *const *clones, size_t clone_count);
void send_source_close(struct send_source *source);

/* The kernel's request, valid while SOURCE is open. The caller sets the protocol and the flags. */
struct send_request send_source_request(const struct send_source *source);

#endif
