/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NEW_FILE_H
#define FASTPATH_NEW_FILE_H

#include <stdio.h>

#include "base/descriptor-place.h"
#include "base/random-name.h"

#define NEW_FILE_PREFIX "btrfs-fastpath-unfinished."

/*
 * A regular file that has its name only when everything is in it: until then it has none, and goes
 * with the process. Where the file system has no such files (O_TMPFILE), or without /proc, by which
 * they get a name, it has another one in the same directory, NEW_FILE_PREFIX and a random number.
 * Nothing that is there is followed, opened or replaced: no file, link, device or FIFO.
 *
 * The directory is looked up once. A symbolic link on the way to it is followed only if it belongs
 * to this user or root, so that nobody else decides where the file goes.
 */
struct new_file {
	/* NULL: it is not open */
	FILE *stream;
	/* the first negative errno, 0: none */
	int error;
	int directory_fd;
	/* from open_own_descriptors() */
	int own_descriptors;
	/* of the file, beside that of the stream */
	int fd;
	char *name;
	/* "": it has none */
	char temporary[RANDOM_NAME_SIZE(NEW_FILE_PREFIX)];
};

/*
 * Open the file that will be PATH. Returns 0, or a negative errno: -EEXIST if PATH is there,
 * whatever it is, -EXDEV where another user's link is on the way (no open(2) of a new file returns
 * that), -EISDIR if PATH names a directory by its form, or as open(2). Freed with
 * new_file_finish().
 */
int new_file_open(const char *path, struct new_file *ret_file);

/* An error is reported at the end. */
void new_file_print(struct new_file *file, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Close the file. If everything could be written and PATH is still free it gets its name, else it
 * is removed. Returns 0, or the negative errno of what failed first: -ENOSPC, -EEXIST, ...
 * RET_LEFT is where the file is if it could not be removed, since somebody moved it; without an
 * inode nothing is left.
 * Rests on linkat(2); for a file with another name on renameat2(2), and linkat(2) where a file
 * system does not know that.
 */
int new_file_finish(struct new_file *file, struct descriptor_place *ret_left);

#endif
