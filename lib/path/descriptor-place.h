/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DESCRIPTOR_PLACE_H
#define FASTPATH_DESCRIPTOR_PLACE_H

#include <stdint.h>

/*
 * The current place of an open file or directory. This is for messages only, because the file can
 * be renamed at any time. No inode has the number 0.
 */
struct descriptor_place {
	uint64_t inode;
	/* from /proc/self/fd, NULL if it is unknown; the caller frees it */
	char *path;
};

/* Returns 0 or a negative errno. */
int descriptor_place_of(int fd, struct descriptor_place *ret_place);

#endif
