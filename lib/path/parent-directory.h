/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_PARENT_DIRECTORY_H
#define FASTPATH_PARENT_DIRECTORY_H

/* The name of PATH in its directory, a part of PATH. "" if PATH ends with a "/". */
const char *path_last_component(const char *path);

/*
 * Open the directory that has, or will have, PATH. It is looked up once, so that nobody can replace it
 * between two calls. A symbolic link on the way to it is followed only if it belongs to this user or
 * root, so that nobody else decides where that is. The descriptor is good for calls such as
 * unlinkat(2), and not for reading. Returns it, or a negative errno: -EXDEV if another user's link is
 * on the way; or as open(2).
 */
int parent_directory_open(const char *path);

/* The same, and make the directories that are missing, with the mode 0755 and the umask. */
int parent_directory_make(const char *path);

#endif
