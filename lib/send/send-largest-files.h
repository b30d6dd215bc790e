/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_LARGEST_FILES_H
#define FASTPATH_SEND_LARGEST_FILES_H

#include <stddef.h>
#include <stdint.h>

struct send_largest_file {
	/* NULL if renaming of its directories made it longer than a path in a stream can be */
	char *path;
	uint64_t bytes;
	/* -- */
	char *path_end;
};

struct send_largest_files;

/*
 * Keeps the MOST files with the most bytes in a stream. Its memory is for MOST paths, even if files
 * are renamed. Usually all commands for a file are consecutive. If a file was dropped because it
 * was small and more commands for it follow, it begins at 0 again.
 * Returns 0, or -ENOMEM. Freed with send_largest_files_free().
 */
int send_largest_files_new(struct send_largest_files **ret_top, size_t most);
void send_largest_files_free(struct send_largest_files *top);

/* Add BYTES to the file PATH. Only the first PATH_MAX - 1 bytes of PATH are used. */
void send_largest_files_add(struct send_largest_files *top, const char *path, uint64_t bytes);

/* Rename FROM, and all files in it, to TO. */
void send_largest_files_rename(struct send_largest_files *top, const char *from, const char *to);

/*
 * Returns the number of files. *RET_FILES begins with the largest, and is valid until the next
 * call.
 */
size_t send_largest_files_list(struct send_largest_files *top,
			       const struct send_largest_file **ret_files);

#endif
