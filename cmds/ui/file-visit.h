/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_VISIT_H
#define FASTPATH_FILE_VISIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/inode-set.h"
#include "fs/file-walk.h"
#include "ui/options.h"

/* Why a file could not be reported; ACTION is NULL where all went well. */
struct failure {
	/* as error_path() wants it */
	const char *action;
	/* negative errno, or 0 */
	int error;
};

#define NO_FAILURE ((struct failure){ 0 })

/* What a command keeps about the files it was at. */
struct file_visit {
	struct inode_set *seen;
	/* remember every file, not just those with several names */
	bool remember_all;
	/* the exit status so far */
	int status;
	/* files and directories that were gone before they could be examined */
	uint64_t vanished_count;
	/* the privilege for --cold was found missing, and said so */
	bool no_cache_drop;
};

/* Returns 0 or -ENOMEM; freed with file_visit_free(). */
int file_visit_init(struct file_visit *visit, bool remember_all);
void file_visit_free(struct file_visit *visit);

/* Why a file that the walk found cannot be opened. */
struct failure file_visit_check(const struct found_file *file);

/*
 * Opens the regular file that WALK found, on any thread; the caller closes *RET_FD, which is set
 * without a failure alone.
 */
struct failure file_visit_open(const struct file_walk *walk, const struct found_file *file,
			       int *ret_fd, struct stat *ret_status);

/* Returns 1 unless the file came before, by whatever name, or -ENOMEM. */
int file_visit_is_first(struct file_visit *visit, const struct stat *status);

/* A file that is open, and the name that it is reported by. */
struct opened_file {
	const char *path;
	int fd;
	struct stat status;
};

/*
 * Opens each file that WALK finds and that was not there before, and gives it to REPORT; complains
 * about those that cannot be opened or reported.
 * Returns 0, or the negative errno that ended the walk.
 */
int file_visit_each(struct file_visit *visit, struct file_walk *walk,
		    struct failure (*report)(void *data, const struct opened_file *file),
		    void *data);

/*
 * Complains about a failure and remembers that there was one. What was found in a directory and
 * vanished is only counted; a file that is a mount point does not belong to the walk.
 */
void file_visit_failed(struct file_visit *visit, const char *path, bool named,
		       struct failure failure);

/* Warns that files vanished, if there were some. */
void file_visit_warn_of_vanished(const struct file_visit *visit);

/*
 * Drops all caches for --cold, as cold_drop_caches(), but complains once alone.
 */
int file_visit_drop_caches(struct file_visit *visit, int fd);

#endif
