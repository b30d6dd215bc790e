/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_TOP_H
#define FASTPATH_SEND_TOP_H

#include <stddef.h>
#include <stdint.h>

struct send_top_file {
	char *path;
	uint64_t bytes;
};

struct send_top;

/*
 * Keeps the MOST files with the most bytes in a stream. The commands for a file come together,
 * mostly: one that was dropped for being small begins at 0 again.
 * Returns 0, or -ENOMEM. Freed with send_top_free().
 */
int send_top_new(struct send_top **ret_top, size_t most);
void send_top_free(struct send_top *top);

/* BYTES more of the file PATH. Returns 0, or -ENOMEM. */
int send_top_add(struct send_top *top, const char *path, uint64_t bytes);

/* FROM, and what is in it, is called TO from now on. Returns 0, or -ENOMEM. */
int send_top_rename(struct send_top *top, const char *from, const char *to);

/* The files, the one with most first, valid until the next call. Returns 0, or -ENOMEM. */
int send_top_list(struct send_top *top, const struct send_top_file **ret_files, size_t *ret_count);

#endif
