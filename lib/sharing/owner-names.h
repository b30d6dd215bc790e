/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OWNER_NAMES_H
#define FASTPATH_OWNER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "sharing/extent-owners.h"

/* Where an owner is to be found. */
struct owner_name {
	/* from the top level, "/" for the top level itself; NULL: deleted, or unknown */
	const char *subvolume;
	/* a directory under which the subvolume is mounted, or NULL */
	const char *directory;
	/* relative to the subvolume, NULL-terminated; NULL if the inode has no name (any more) */
	char **names;
	/* these are all; false also where no more than one could be asked for */
	bool complete;
};

struct owner_names;

/*
 * Finds names on the file system of FD, which stays the caller's.
 * Returns 0 or a negative errno as filesystem_id_of(); freed with owner_names_free().
 */
int owner_names_new(struct owner_names **ret_names, int fd);
void owner_names_free(struct owner_names *names);
void owner_names_freep(struct owner_names **names);

/*
 * Fill RET_NAME with what can be found out about OWNER, valid until the next call.
 * All names where the subvolume is mounted anywhere, one otherwise.
 * Returns 0 (also for an owner that is gone), or -ENOMEM.
 */
int owner_names_find(struct owner_names *names, const struct extent_owner *owner,
		     struct owner_name *ret_name);

#endif
