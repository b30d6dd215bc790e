/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_WALK_H
#define FASTPATH_FILE_WALK_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct file_walk_options {
	/* NULL-terminated; must outlive the walk. Or, if LIST is not NULL, names from LIST,
	 * each ended by a NUL byte. */
	char *const *paths;
	FILE *list;
	/* go into directories, without crossing mount points or following symbolic links */
	bool recursive;
	/* nor into other subvolumes */
	bool one_subvolume;
};

/* A file found; PATH is valid until the next call. */
struct found_file {
	const char *path;
	/* given by the caller rather than found in a directory */
	bool named;
	/* 0, or the negative errno for which the file cannot be looked at; -ENOTTY: not on btrfs */
	int error;
	/* S_IFREG …, as of when it was found */
	mode_t type;
};

struct file_walk;

/* Returns 0 or -ENOMEM; freed with file_walk_free(). OPTIONS is copied. */
int file_walk_new(struct file_walk **ret_walk, const struct file_walk_options *options);
void file_walk_free(struct file_walk *walk);
void file_walk_freep(struct file_walk **walk);

/*
 * The next file: all that were named, of any kind (a directory only if not recursive), and
 * the regular files in named directories, without a stat() for each.
 * Returns 1, 0 at the end, or a negative errno that ends the walk (-ENOMEM, or the list
 * cannot be read).
 */
int file_walk_next(struct file_walk *walk, struct found_file *ret_file);

#endif
