/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OWN_LINK_H
#define FASTPATH_OWN_LINK_H

/*
 * Symbolic links to our own files, in directories where others have files as well. A link is ours if
 * it has exactly the TARGET that we give it. PATH is looked up as parent_directory_open() does it.
 * Rest on readlink(2), symlink(2) and unlink(2).
 */

enum own_link_state {
	OWN_LINK_ABSENT,
	OWN_LINK_PRESENT,
	/* the name is taken by something else */
	OWN_LINK_TAKEN,
};

/* Find out what is at PATH. Returns 0, or a negative errno as readlink(2). */
int own_link_look(const char *path, const char *target, enum own_link_state *ret_state);

/*
 * Make a link at PATH, and the directories above it that are missing. Returns 1; 0 if there is one;
 * -EEXIST if the name is taken; or a negative errno as mkdir(2) and symlink(2).
 */
int own_link_make(const char *path, const char *target);

/*
 * Remove the link at PATH, and then the DIRECTORIES nearest above it that are empty. Nothing else is
 * removed. Returns 0, also if there is no link; -EEXIST if the name is taken; or as unlink(2).
 */
int own_link_remove(const char *path, const char *target, unsigned int directories);

#endif
