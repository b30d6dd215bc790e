/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FSYNC_FOLDER_H
#define FASTPATH_FSYNC_FOLDER_H

#include <dirent.h>
#include <stdint.h>

#include "path/temporary-file.h"

#define FSYNC_FOLDER_PREFIX "btrfs-fastpath-log-stats."
#define FSYNC_FOLDER_NAME_SIZE RANDOM_NAME_SIZE(FSYNC_FOLDER_PREFIX)

/*
 * A temporary folder to which empty files are added, or in which a file is written, with an fsync now
 * and then.
 *
 * While it is in use it is locked (flock). After the locking it gets an extended attribute with its
 * inode number. So a folder of mode 0700 that has the attribute and no lock belongs to a program
 * that was killed. Only root can set the attribute that root uses. Root in a user namespace cannot
 * set it, and makes folders that cannot be recognized later. The only files that are removed are
 * regular files with the names used here, empty but for those of data, and then the folder if it is
 * empty. All accesses
 * are by descriptor, and no link is followed.
 */
struct fsync_folder {
	/* the caller's */
	int parent_fd;
	int fd;
	char name[FSYNC_FOLDER_NAME_SIZE];
	/* the number of files added */
	uint64_t file_count;
	/* the entries during the removal, NULL before it */
	DIR *entries;
};

/*
 * Make a folder in the directory PARENT_FD, on btrfs, and lock it. PARENT_FD can be open with
 * O_PATH. It can belong to another user, who can rename and replace the folder. Returns 0, or a
 * negative errno as mkdir(2) and fsetxattr(2); -EINTR if a signal came while another program had
 * the lock; -EPERM or -EEXIST if the new folder was replaced by another directory, so that it is
 * lost. If RET_LEFT is not NULL, it is the name of the folder if that could not be removed after an
 * error, and "" if nothing is left.
 * Removed with fsync_folder_remove_next(), freed with fsync_folder_close().
 */
int fsync_folder_new(int parent_fd, struct fsync_folder *ret_folder,
		     char ret_left[FSYNC_FOLDER_NAME_SIZE]);

/* Adds an empty file. Returns 0, or a negative errno as open(2). */
int fsync_folder_add(struct fsync_folder *folder);

/*
 * The names of files with data: a workload replaces the first one by the second one, or has
 * only the first one.
 */
#define FSYNC_DATA_NAME "data"
#define FSYNC_NEW_DATA_NAME "data.new"

/* Makes the empty file NAME, one of these. Returns a descriptor, or a negative errno as open(2). */
int fsync_folder_make_data(struct fsync_folder *folder, const char *name);

/* Renames the second one over the first one. Returns 0 or a negative errno as rename(2). */
int fsync_folder_replace_data(struct fsync_folder *folder);

/* Fsyncs FD. Returns 0 with the time that the fsync took, or a negative errno. */
int fsync_timed(int fd, uint64_t *ret_nanoseconds);

/* Fsyncs the folder itself. Returns 0 with the time that the fsync took, or a negative errno. */
int fsync_folder_sync(struct fsync_folder *folder, uint64_t *ret_nanoseconds);

/* Sets the times of the folder, which is the smallest change. Returns 0 or a negative errno. */
int fsync_folder_touch(struct fsync_folder *folder);

/*
 * Removes the next file, or at the end the folder, even if the folder was renamed or moved within
 * its mount. It removes nothing else, with one exception: a user who can remove a directory can put
 * an empty one in the place of the folder at that moment. Returns 1, 0 when the folder is removed,
 * or a negative errno: -ENOTEMPTY if the folder has other files, which are left alone; -ENOENT if
 * it was moved and cannot be found, -EACCES if this user may not search there. After other errors
 * the caller can try again.
 */
int fsync_folder_remove_next(struct fsync_folder *folder);

/* Frees what it holds, the lock included. */
void fsync_folder_close(struct fsync_folder *folder);

/* A folder of the first kind can be removed; the others are only reported. */
enum fsync_folder_finding {
	/* a program of this user made it and was killed */
	FSYNC_FOLDER_LEFT,
	/* perhaps a program of this user made it and was killed */
	FSYNC_FOLDER_DOUBTFUL,
	/* a program of this user made it and still has the lock: it runs, or has just been killed */
	FSYNC_FOLDER_IN_USE,
};

typedef int fsync_folder_found(void *data, struct fsync_folder *folder,
			       enum fsync_folder_finding finding);

/*
 * Call FOUND for each folder in the directory PARENT_FD that a program of this user made, or
 * perhaps made. The folder is locked, unless it is in use, and is closed after the call. Ends early
 * if FOUND returns a negative errno. Returns 0 or a negative errno: -EACCES if PARENT_FD cannot be
 * read.
 */
int fsync_folder_each_left(int parent_fd, fsync_folder_found *found, void *data);

#endif
