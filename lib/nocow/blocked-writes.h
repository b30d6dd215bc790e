/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BLOCKED_WRITES_H
#define FASTPATH_BLOCKED_WRITES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "path/inode-identity.h"

/* What keeps every program from writing to the data that a file has. */
enum write_block {
	WRITE_BLOCK_NONE,
	WRITE_BLOCK_SUBVOLUME,
	WRITE_BLOCK_IMMUTABLE,
	WRITE_BLOCK_APPEND_ONLY,
	/* the kernel writes to its blocks, past the file system */
	WRITE_BLOCK_SWAP,
};

/* A word for JSON, NULL for WRITE_BLOCK_NONE. */
const char *write_block_name(enum write_block block);

/*
 * The active swap files. None are found without /proc, nor one that has no path in this mount
 * namespace. Returns 0 or -ENOMEM; freed with inode_set_free(). Rests on /proc/swaps.
 */
int swap_files_read(struct inode_set **ret_swap_files);

/*
 * Find out what blocks writes to the file FD, whose fstat(2) is STATUS and whose flags are
 * INODE_FLAGS. If it IS_READ_ONLY, opening it for writing fails with EROFS. A read-only mount alone
 * does not block writes: the file can be written through another mount.
 * Returns 0, or a negative errno as subvolume_is_read_only().
 * Rests on the flags of the subvolume and of the inode.
 */
int write_block_of(int fd, const struct stat *status, uint32_t inode_flags, bool is_read_only,
		   const struct inode_set *swap_files, enum write_block *ret_block);

#endif
