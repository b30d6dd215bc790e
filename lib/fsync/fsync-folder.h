/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FSYNC_FOLDER_H
#define FASTPATH_FSYNC_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/random-name.h"

#define FSYNC_FOLDER_PREFIX "btrfs-fastpath-log-stats."
#define FSYNC_FOLDER_NAME_SIZE RANDOM_NAME_SIZE(FSYNC_FOLDER_PREFIX)

/*
 * A folder that grows by empty files and is fsynced in between, and then goes away.
 *
 * While it is in use it is locked (flock), and it bears an extended attribute, which it gets once
 * it is locked, and which says which inode that is. So a folder with the attribute, of mode 0700,
 * and without a lock is one whose program was killed. Root's attribute is one that nobody else can
 * set; a root who cannot, in a user namespace, makes folders that nobody can tell for what they
 * are. What is removed: empty regular files with the names given here, and then the folder if it is
 * empty. Everything goes by descriptors, and no link is followed.
 */
struct fsync_folder {
	/* the caller's */
	int parent_fd;
	int fd;
	char name[FSYNC_FOLDER_NAME_SIZE];
	/* how many were added */
	uint64_t file_count;
	/* what is removed, NULL before that */
	DIR *entries;
};

/*
 * Make a folder in the directory PARENT_FD, on btrfs, and lock it. PARENT_FD may be open with
 * O_PATH, and belong to another user, who can rename what is in it and put something else in its
 * place. Returns 0, or a negative errno as mkdir(2) and fsetxattr(2), -EINTR if a signal came
 * while somebody else had the lock; -EPERM or -EEXIST where another directory was found in the
 * place of the new one, which is lost then. Unless it is NULL, RET_LEFT is the name of what was
 * made and could not be removed again after an error, "" where nothing is left.
 * Removed with fsync_folder_remove_next(), freed with fsync_folder_close().
 */
int fsync_folder_new(int parent_fd, struct fsync_folder *ret_folder,
		     char ret_left[FSYNC_FOLDER_NAME_SIZE]);

/* Adds an empty file. Returns 0, or a negative errno as open(2). */
int fsync_folder_add(struct fsync_folder *folder);

/* Fsyncs the folder itself. Returns 0 and how long that took, or a negative errno. */
int fsync_folder_sync(struct fsync_folder *folder, uint64_t *ret_nanoseconds);

/* The least change: its times. Returns 0 or a negative errno. */
int fsync_folder_touch(struct fsync_folder *folder);

/*
 * Removes the next file, or at last the folder, under whatever name and in whatever directory of
 * its mount it is by now; nothing else is removed, except an empty directory that somebody who
 * might remove it himself puts in its place at that moment. Returns 1, 0 when the folder is gone,
 * or a negative errno: -ENOTEMPTY if something is in it that is not ours, which is left alone;
 * -ENOENT if it was moved to where it cannot be found, -EACCES if to where this user may not look.
 * After another error it can be tried again.
 */
int fsync_folder_remove_next(struct fsync_folder *folder);

/* Frees what it holds, the lock included. */
void fsync_folder_close(struct fsync_folder *folder);

/* All but the first are not to be removed, but to be told of. */
enum fsync_folder_finding {
	/* this user's program made it, and left it behind */
	FSYNC_FOLDER_LEFT,
	/* it may have */
	FSYNC_FOLDER_DOUBTFUL,
	/* it did, and has not let go of it yet: it runs, or has just been killed */
	FSYNC_FOLDER_IN_USE,
};

typedef int fsync_folder_found(void *data, struct fsync_folder *folder,
			       enum fsync_folder_finding finding);

/*
 * Call FOUND for each folder in the directory PARENT_FD that a program of this user made, or may
 * have made, locked as if it were new unless it is in use; it is closed afterwards. Goes on until
 * FOUND returns a negative errno. Returns 0 or a negative errno: -EACCES where PARENT_FD cannot be
 * read.
 */
int fsync_folder_each_left(int parent_fd, fsync_folder_found *found, void *data);

#endif
