/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NEW_FILE_H
#define FASTPATH_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "path/descriptor-place.h"
#include "path/temporary-file.h"

#define NEW_FILE_PREFIX "btrfs-fastpath-unfinished."

/*
 * A regular file that gets its name only when it is complete. Until then it has no name, and is
 * removed when the process ends. If the file system does not support O_TMPFILE, or if /proc, which
 * is needed to name such a file, is missing, it has a temporary name in the same directory:
 * NEW_FILE_PREFIX and a random number. An existing file, link, device or FIFO is never followed,
 * opened or replaced.
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
	/* a second descriptor of the file, besides that of the stream; it can be read, too */
	int fd;
	char *name;
	/* what has the name is replaced */
	bool replaces;
	/* "" if it has no temporary name */
	char temporary[RANDOM_NAME_SIZE(NEW_FILE_PREFIX)];
};

/*
 * Open a file that will get the name PATH. Returns 0, or a negative errno: -EEXIST if PATH exists,
 * of any type; -EXDEV if another user's link is on the way (open(2) of a new file never returns
 * this errno); -EISDIR if PATH has the form of a directory's name; or as open(2). Freed with
 * new_file_finish().
 */
int new_file_open(const char *path, struct new_file *ret_file);

/*
 * The same, for a file that replaces the regular file PATH, or the symbolic link of this name, at
 * once and when it is complete and on disk: a program that opens PATH gets the old or the new one.
 * Only its owner can write to it, whatever the umask is. It gets a temporary name just before that of PATH, so
 * that SIGKILL leaves such a name only at this moment. Returns as new_file_open(); -EEXIST only if PATH is
 * another kind of file, -EISDIR if it is a directory.
 */
int new_file_open_to_replace(const char *path, struct new_file *ret_file);

/*
 * Close the file. If everything was written and PATH is still free, it gets its name, else it is
 * removed. Returns 0, or the negative errno of the first failure: -ENOSPC, -EEXIST, ...; -EIO if what was
 * printed to the stream was lost for an unknown reason.
 * If the file could not be removed because somebody moved it, RET_LEFT is its place; the inode in
 * RET_LEFT is 0 if nothing is left.
 * Rests on linkat(2); for a file with a temporary name on renameat2(2), or on linkat(2) if the file
 * system does not support renameat2(2).
 */
int new_file_finish(struct new_file *file, struct descriptor_place *ret_left);

#endif
