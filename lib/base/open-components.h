/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPEN_COMPONENTS_H
#define FASTPATH_OPEN_COMPONENTS_H

/* Opens the directory NAME in DIRECTORY. Returns a descriptor or a negative errno. */
typedef int open_component(int directory, const char *name, void *data);

/*
 * Opens the directory PATH one name at a time by OPEN_ONE, which gets DATA, each in the one before;
 * the first one in START, which is closed. What PATH begins with does not matter: "/" is no other
 * directory than START.
 * Returns a descriptor that the caller closes, START itself if PATH has no name; or a negative
 * errno, that of START if it is one, -ENOMEM, or the first that OPEN_ONE returned.
 */
int open_components(int start, const char *path, open_component *open_one, void *data);

#endif
