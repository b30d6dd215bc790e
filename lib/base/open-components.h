/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_OPEN_COMPONENTS_H
#define FASTPATH_OPEN_COMPONENTS_H

/* Opens the directory NAME in DIRECTORY. Returns a descriptor or a negative errno. */
typedef int open_component(int directory, const char *name, void *data);

/*
 * Opens the directory PATH. OPEN_ONE, which gets DATA, opens one name at a time in the directory
 * opened before; the first name in START. START is closed. A "/" at the begin of PATH is ignored:
 * every path begins in START.
 * Returns a descriptor that the caller closes, START itself if PATH has no name; or a negative
 * errno, that of START if it is one, -ENOMEM, or the first that OPEN_ONE returned.
 */
int open_components(int start, const char *path, open_component *open_one, void *data);

#endif
