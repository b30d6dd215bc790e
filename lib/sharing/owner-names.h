/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OWNER_NAMES_H
#define FASTPATH_OWNER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "sharing/extent-owners.h"
#include "sys/cleanup.h"

/* The names of an owner. */
struct owner_name {
	/* the path from the top level, "/" for the top level itself; NULL if deleted or unknown */
	const char *subvolume;
	/* why it has no path: 0, or as subvolume_path() */
	int subvolume_error;
	/* a directory under which the subvolume is mounted, or NULL */
	const char *directory;
	/* relative to the subvolume, NULL-terminated; NULL if the inode has no name */
	char **names;
	/* NAMES has all names; false also if only one name could be looked up */
	bool complete;
};

struct owner_names;

/*
 * Finds names on the file system of FD, which stays the caller's.
 * Returns 0 or a negative errno as filesystem_id_of(); freed with owner_names_free().
 */
int owner_names_new(struct owner_names **ret_names, int fd);
void owner_names_free(struct owner_names *names);
DEFINE_FREEP(owner_names_free, struct owner_names)

/*
 * Look up the names of subvolume SUBVOLID alone: the first two members of RET_NAME, which are valid
 * until the next call. Returns as owner_names_find().
 */
int owner_names_find_subvolume(struct owner_names *names, uint64_t subvolid,
			       struct owner_name *ret_name);

/*
 * Look up the names of OWNER; RET_NAME is valid until the next call. If the subvolume is mounted it
 * has all names, else one.
 * Returns 0 (also for an owner that was deleted), or -ENOMEM.
 */
int owner_names_find(struct owner_names *names, const struct extent_owner *owner,
		     struct owner_name *ret_name);

#endif
