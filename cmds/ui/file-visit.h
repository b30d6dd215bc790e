/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_VISIT_H
#define FASTPATH_FILE_VISIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/inode-set.h"
#include "fs/file-walk.h"
#include "ui/options.h"

/* Why a file could not be reported; ACTION is NULL without a failure. */
struct failure {
	/* the ACTION of error_path() */
	const char *action;
	/* negative errno, or 0 */
	int error;
};

#define NO_FAILURE ((struct failure){ 0 })

/* What a command remembers about the files that it has visited. */
struct file_visit {
	struct inode_set *seen;
	/* remember every file, and not only files with several names */
	bool remember_all;
	/* the exit status so far */
	int status;
	/* the number of files and directories that vanished before they could be examined */
	uint64_t vanished_count;
	/* the number of mount points of the same file system that were found and not entered */
	uint64_t skipped_mount_count;
	/* the paths come from --files0-from */
	bool from_list;
	/* the privilege for --cold is missing, and an error was printed */
	bool no_cache_drop;
	/*
	 * If not NULL, file_visit_each() calls it with DATA for each name of a file, and for each time
	 * that a name comes. Returns 0 or a negative errno.
	 */
	int (*each_name)(void *data, const struct found_file *found, int fd,
			 const struct stat *status);
	void *data;
};

/* Returns 0 or -ENOMEM; freed with file_visit_free(). */
int file_visit_init(struct file_visit *visit, bool remember_all);
void file_visit_free(struct file_visit *visit);

/* Why a file of the walk cannot be reported, or NO_FAILURE. */
struct failure file_visit_check(const struct found_file *file);

/*
 * Opens the regular file FILE of WALK. Any thread may call this. Without a failure *RET_FD is a
 * descriptor that the caller closes.
 */
struct failure file_visit_open(const struct file_walk *walk, const struct found_file *file,
			       int *ret_fd, struct stat *ret_status);

/* Returns 1 for a new file, 0 if the file came before under any name, or -ENOMEM. */
int file_visit_is_first(struct file_visit *visit, const struct stat *status);

/* An open file, and its name in the report. */
struct opened_file {
	const char *path;
	int fd;
	struct stat status;
};

/*
 * Opens each file that WALK finds for the first time, and passes it to REPORT. Prints an error for
 * each file that cannot be opened or reported.
 * Returns 0, or the negative errno that ended the walk.
 */
int file_visit_each(struct file_visit *visit, struct file_walk *walk,
		    struct failure (*report)(void *data, const struct opened_file *file),
		    void *data);

/*
 * Prints an error for FAILURE and sets the exit status. If a file that was found in a directory
 * vanished, it is only counted, and so is a mount point of the same file system. A mount point of
 * another file system does not belong to the walk and is no failure.
 */
void file_visit_failed(struct file_visit *visit, const char *path, bool named,
		       struct failure failure);

/* Prints a warning if files vanished. */
void file_visit_warn_of_vanished(const struct file_visit *visit);

/* Prints a warning if mount points were counted. */
void file_visit_warn_of_mounts(const struct file_visit *visit);

/*
 * Drops all caches for --cold, as cold_drop_caches(), but prints an error only once.
 */
int file_visit_drop_caches(struct file_visit *visit, int fd);

#endif
