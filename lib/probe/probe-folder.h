/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROBE_FOLDER_H
#define FASTPATH_PROBE_FOLDER_H

#include <stdbool.h>

#include "probe/probe-files.h"

/* A new directory that only this user can enter, whoever the directory that it is in belongs to. */
struct probe_folder {
	/* the caller's */
	int parent_fd;
	int fd;
	char name[PROBE_NAME_SIZE];
};

/*
 * Make one in the directory PARENT_FD.
 * Returns 0, -ESTALE if another user put something else in its place, or a negative errno as
 * mkdir(2). Removed with probe_folder_remove().
 */
int probe_folder_new(int parent_fd, struct probe_folder *ret_folder);

/*
 * Remove it, and close it in any case. Whoever can rename in PARENT_FD can put an empty directory
 * of his choice in its place at the last moment, which goes then; he could remove it anyway.
 * Returns 0, -ESTALE if it is not in its place, -ENOTEMPTY, or a negative errno as rmdir(2).
 */
int probe_folder_remove(struct probe_folder *folder);

/*
 * Whether no other user can rename or replace what this one makes in the directory FD: it is this
 * user's or root's, and others cannot write to it, or it has the sticky bit.
 */
bool probe_folder_is_safe_in(int fd);

#endif
