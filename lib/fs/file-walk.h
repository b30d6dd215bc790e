/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_WALK_H
#define FASTPATH_FILE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

struct file_walk_options {
	/* NULL-terminated; must outlive the walk. Or, if LIST is not NULL, names from LIST,
	 * each ended by a NUL byte. */
	char *const *paths;
	/* belongs to the walk, which closes it, unless it is stdin */
	FILE *list;
	/* go into directories, without crossing mount points or following symbolic links */
	bool recursive;
	/* nor into other subvolumes */
	bool one_subvolume;
};

/* An open descriptor: of the directory that a file was found in, or of a file that was named. */
struct file_place;

/* A file found; PATH and PLACE are valid until the next call. */
struct found_file {
	const char *path;
	/* given by the caller rather than found in a directory */
	bool named;
	/*
	 * 0, or the negative errno for which the file cannot be looked at; -ENOTTY: not on btrfs;
	 * -ENOENT of one that was not named: it vanished meanwhile
	 */
	int error;
	/* S_IFREG …, as of when it was found */
	mode_t type;
	/* of a regular file without an error */
	struct file_place *place;
	/* where in PATH its name in the directory PLACE begins, unless it was named */
	size_t name_offset;
};

struct file_walk;

/*
 * Returns 0 or -ENOMEM; freed with file_walk_free(). OPTIONS is copied; its list is taken over,
 * also on failure.
 */
int file_walk_new(struct file_walk **ret_walk, const struct file_walk_options *options);
void file_walk_free(struct file_walk *walk);
void file_walk_freep(struct file_walk **walk);

/*
 * The next file: all that were named, of any kind (a directory only if not recursive), and
 * the regular files in named directories, without a stat() for each. Each directory is read and
 * entered by descriptor, so that it may be renamed meanwhile, and never led out of.
 * Returns 1, 0 at the end, or a negative errno that ends the walk (-ENOMEM, or the list
 * cannot be read).
 */
int file_walk_next(struct file_walk *walk, struct found_file *ret_file);

/*
 * Opens for reading the regular file FILE, which WALK found without an error, if it is one still;
 * nothing else is ever opened that anyone but root and the caller could have put in its place. Any
 * thread may do so, as long as the walk and FILE's place are there.
 * Returns a descriptor that the caller closes, with its status, or a negative errno as openat2(2):
 * -ENOENT also if something else has its name by now, -EXDEV if that is a mount point.
 */
int file_walk_open(const struct file_walk *walk, const struct found_file *file,
		   struct stat *ret_status);

/*
 * Copies FILE into *RET_KEPT, for longer than until the next call; freed with found_file_drop()
 * before the walk is. A place keeps a descriptor open. Both belong to the thread of the walk.
 * Returns 0 or -ENOMEM.
 */
int found_file_keep(const struct found_file *file, struct found_file *ret_kept);
void found_file_drop(struct found_file *kept);

#endif
