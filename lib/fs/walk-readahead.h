/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WALK_READAHEAD_H
#define FASTPATH_WALK_READAHEAD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Brings what a walk through directories needs next into the kernel's memory: the entries of the next
 * subdirectories, and the inodes of the next files. On a cold file system each of them is one read after
 * the other; here threads wait for many at a time. As long as they do not wait, since all is in memory, they
 * try only some. Nothing depends on it: every error is ignored, and without threads or memory nothing is read
 * ahead.
 */
struct walk_readahead;

/* Returns NULL without memory, or if not all threads can be started. */
struct walk_readahead *walk_readahead_new(void);

/*
 * All directories must be freed before. Does not wait for the threads: each ends by itself after the read in
 * which it is, which another user's disk or mount can delay for ever. READAHEAD can be NULL.
 */
void walk_readahead_free(struct walk_readahead *readahead);

/* A directory that is being walked, and how far was looked ahead in it. */
struct readahead_directory;

/*
 * The directory of the descriptor FD, which the caller closes after it was freed. Only subdirectories on DEVICE
 * are read, unless it is 0. IS_TOPMOST: the walk begins in it. READAHEAD can be NULL. Returns NULL on failure.
 */
struct readahead_directory *readahead_directory_new(struct walk_readahead *readahead, int fd,
						    dev_t device, bool is_topmost);

/* What was found in it is still read. DIRECTORY can be NULL. */
void readahead_directory_free(struct readahead_directory *directory);

/* The walk has read one more entry, "." and ".." included. Does not wait for a thread. DIRECTORY can be NULL. */
void readahead_directory_advance(struct readahead_directory *directory);

#endif
