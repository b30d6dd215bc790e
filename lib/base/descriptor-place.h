/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DESCRIPTOR_PLACE_H
#define FASTPATH_DESCRIPTOR_PLACE_H

#include <stdint.h>

/*
 * What is known of where an open file or directory is now, for messages, since it can be renamed
 * again at once. No inode has the number 0.
 */
struct descriptor_place {
	uint64_t inode;
	/* as /proc/self/fd has it, NULL where the kernel does not tell; the caller frees it */
	char *path;
};

/* Returns 0 or a negative errno. */
int descriptor_place_of(int fd, struct descriptor_place *ret_place);

#endif
