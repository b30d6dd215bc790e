/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIEMAP_SHARED_SPACE_H
#define FASTPATH_FIEMAP_SHARED_SPACE_H

#include "fiemap-shared-scan.h"

/* --disk and --freed: what the files have on disk, and what is freed with them. */

/* Returns 0 or -ENOMEM; freed with fiemap_shared_space_release(). */
int fiemap_shared_space_prepare(struct sharing_scan *scan);
void fiemap_shared_space_release(struct sharing_scan *scan);

/* An examined file, and the answer: 0 with SPACE, or the negative errno. */
struct space_answer {
	int error;
	struct file_space space;
};

/* Examines an open file. IS_REPEATED as named_set_add_file(). Any thread may call this, each with its own READER. */
void fiemap_shared_space_ask(const struct sharing_scan *scan, struct space_reader *reader, int fd,
			     const struct stat *status, bool is_repeated, size_t argument,
			     struct space_answer *ret_answer);

/*
 * Adds ANSWER to the total, once for each file, and complains of what failed in it. Returns what is
 * to be printed for the file PATH, or NULL. This and the functions below belong to the thread of the
 * walk.
 */
const struct file_space *fiemap_shared_space_count(struct sharing_scan *scan, const char *path,
						   const struct space_answer *answer);

/* For struct file_ops; SCAN is a struct sharing_scan. */
int fiemap_shared_space_directory(void *scan, int fd, const struct stat *status, size_t argument);

/* The same, and any thread may call it. */
int fiemap_shared_space_name(void *scan, const struct found_file *found, int fd,
			     const struct stat *status);

/* The figures for the total. Returns false if there are none; then a complaint was printed, if due. */
bool fiemap_shared_space_total(struct sharing_scan *scan, struct freed_space *ret_space);

#endif
