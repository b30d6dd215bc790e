/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_LARGEST_FILES_H
#define FASTPATH_SEND_LARGEST_FILES_H

#include <stddef.h>
#include <stdint.h>

struct send_largest_file {
	/* NULL: with its directories renamed it is longer than a path in a stream can be */
	char *path;
	uint64_t bytes;
	/* -- */
	char *path_end;
};

struct send_largest_files;

/*
 * Keeps the MOST files with the most bytes in a stream, in memory for MOST paths and no more,
 * whatever is renamed. The commands for a file come together, mostly: one that was dropped for
 * being small begins at 0 again.
 * Returns 0, or -ENOMEM. Freed with send_largest_files_free().
 */
int send_largest_files_new(struct send_largest_files **ret_top, size_t most);
void send_largest_files_free(struct send_largest_files *top);

/* BYTES more of the file PATH, of which no more than PATH_MAX - 1 bytes count. */
void send_largest_files_add(struct send_largest_files *top, const char *path, uint64_t bytes);

/* FROM, and what is in it, is called TO from now on. */
void send_largest_files_rename(struct send_largest_files *top, const char *from, const char *to);

/* Returns how many files there are, the one with most first, valid until the next call. */
size_t send_largest_files_list(struct send_largest_files *top,
			       const struct send_largest_file **ret_files);

#endif
