/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILESYSTEM_LIST_H
#define FASTPATH_FILESYSTEM_LIST_H

#include <stdint.h>

#include "fs/filesystem.h"

/* File systems, each with an index. With all members 0 it is empty. */
struct filesystem_list {
	uint8_t (*fsids)[FSID_SIZE];
	uint32_t count;
};

/*
 * The index of the file system of FD, which is added if it is new. Returns 0, -ENOMEM, or a negative
 * errno as filesystem_id_of().
 */
int filesystem_list_find(struct filesystem_list *list, int fd, uint32_t *ret_index);
void filesystem_list_free(struct filesystem_list *list);

#endif
