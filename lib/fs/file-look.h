/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILE_LOOK_H
#define FASTPATH_FILE_LOOK_H

#include <stdbool.h>

#include "fs/operation-watch.h"
#include "fs/relocation-watch.h"

/* A look at one file that collects addresses of extents, and then searches other trees for them. */
struct file_look {
	struct operation_watch operation;
	/* for all calls of the look; NULL if there was no operation at its begin */
	struct relocation_watch *watch;
};

/*
 * Begins a look at a file of FD's file system. FD stays the caller's, and open during the look.
 * SYSFS is NULL for /sys/fs/btrfs.
 * Returns 0, or a negative errno as filesystem_id_of(); ended with file_look_end() in both cases.
 */
int file_look_begin(struct file_look *look, const char *sysfs, int fd);
void file_look_end(struct file_look *look);

/* Whether extents may have been moved since the begin. */
bool file_look_may_have_moved(const struct file_look *look);

/* Whether calls with its watch were undisturbed nevertheless. */
bool file_look_was_watched(const struct file_look *look);

/* Waits for a good moment to look again. */
void file_look_await(const struct file_look *look);

#endif
