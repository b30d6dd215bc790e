/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_UNWRITABLE_CHUNKS_H
#define FASTPATH_UNWRITABLE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/tree-search.h"

/* A device to which the kernel does not write. */
struct unwritable_device {
	uint64_t id;
	/* else it is there, but is a seed device or a read-only block device */
	bool is_missing;
};

/*
 * Whether the kernel writes to the chunk in ITEM, if all devices but COUNT are writable.
 * Returns 1 or 0 and the length of the chunk in bytes, or -EPROTO if the item is too short, or
 * reaches beyond the end of all addresses.
 * Rests on btrfs_chunk_writeable() (fs/btrfs/volumes.c) and struct btrfs_chunk.
 */
int chunk_is_writable(const struct tree_item *item, const struct unwritable_device *devices,
		      size_t count, uint64_t *ret_length);

struct unwritable_chunks;

/*
 * Find the chunks of the file system of FD to which the kernel does not write, though it writes to
 * others. It copies data in them before it changes it, and freeing space in them frees nothing.
 * There are none if no device is writable: then nothing can be changed now, and it is not known what
 * can be written later. ROOT replaces /sys/fs/btrfs if it is not NULL. Memory is 16 bytes for each
 * run of such chunks.
 * Returns 0, also if sysfs does not list the devices, or a negative errno: -EPERM without
 * CAP_SYS_ADMIN if there is such a device. Freed with unwritable_chunks_free().
 * Rests on devinfo in sysfs, and on the chunk tree.
 */
int unwritable_chunks_find(const char *root, int fd, struct unwritable_chunks **ret_chunks);
void unwritable_chunks_free(struct unwritable_chunks *chunks);

/* Whether the data at BYTENR is in one of them. CHUNKS can be NULL. */
bool unwritable_chunks_contain(const struct unwritable_chunks *chunks, uint64_t bytenr);

#endif
