/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PROBE_FOLDER_H
#define FASTPATH_PROBE_FOLDER_H

#include <stdbool.h>

#include "probe/probe-files.h"

/* A new directory that only this user can enter. Its parent can belong to any user. */
struct probe_folder {
	/* the caller's */
	int parent_fd;
	int fd;
	char name[PROBE_NAME_SIZE];
};

/*
 * Make a folder in the directory PARENT_FD.
 * Returns 0, -ESTALE if another user replaced it meanwhile, or a negative errno as
 * mkdir(2). Removed with probe_folder_remove().
 */
int probe_folder_new(int parent_fd, struct probe_folder *ret_folder);

/*
 * Remove the folder, and close it in any case. A user who can rename files in PARENT_FD can put an
 * empty directory in its place at the last moment, which is then removed; this user could also
 * remove that directory himself.
 * Returns 0, -ESTALE if the folder is not in its place, -ENOTEMPTY, or a negative errno as
 * rmdir(2).
 */
int probe_folder_remove(struct probe_folder *folder);

/*
 * Whether no other user can rename or replace the files that this user makes in the directory FD.
 * It must belong to this user or root, and either others cannot write to it or it has the sticky
 * bit.
 */
bool probe_folder_is_safe_in(int fd);

#endif
