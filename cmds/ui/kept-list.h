/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_KEPT_LIST_H
#define FASTPATH_KEPT_LIST_H

#include <stdint.h>
#include <stdio.h>

/* A list that is read from a pipe, say, and then once more from a temporary file without a name. */
struct kept_list {
	/* NULL before it is opened */
	FILE *source;
	/* a descriptor, or the negative errno if there is no copy */
	int copy;
	uint64_t size;
};

/*
 * Takes over SOURCE, and returns a stream with the same bytes that keeps those that were read. The
 * stream has to be closed before LIST is read again or freed.
 * Returns NULL with errno set; SOURCE is closed then, unless it is stdin.
 */
FILE *kept_list_open(struct kept_list *list, FILE *source);

/* A stream with the bytes that were read; NULL with errno set, also if they could not be kept. */
FILE *kept_list_reopen(const struct kept_list *list);

void kept_list_free(struct kept_list *list);

#endif
