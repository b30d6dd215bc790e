/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SWAP_FILE_H
#define FASTPATH_SWAP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/chunk-list.h"
#include "nocow/blocked-writes.h"
#include "nocow/nocow.h"

/* Why swapon(2) refuses a file. */
enum swap_obstacle {
	/* it is active swap */
	SWAP_ACTIVE,
	SWAP_READ_ONLY,
	/* immutable or append-only */
	SWAP_NOT_WRITABLE,
	/* a balance or another exclusive operation is running */
	SWAP_BUSY,
	/* flags of the inode */
	SWAP_COMPRESS,
	SWAP_COPY_ON_WRITE,
	SWAP_CHECKSUMS,
	/* extents */
	SWAP_HOLE,
	SWAP_INLINE,
	SWAP_COMPRESSED,
	SWAP_SHARED,
	/* the chunk's profile is not single */
	SWAP_PROFILE,
	/* not on the device of the first extent */
	SWAP_DEVICES,
	/* on a seed device, or another one to which the kernel does not write */
	SWAP_READ_ONLY_DEVICE,
	/* what mkswap writes is missing or damaged, or says that the swap area is longer than the file */
	SWAP_SIGNATURE,
	SWAP_TOO_SHORT,
	SWAP_OBSTACLE_COUNT,
};

/* For JSON. */
const char *swap_obstacle_name(enum swap_obstacle obstacle);

struct swap_findings {
	bool has[SWAP_OBSTACLE_COUNT];
	/* of the extents and holes of this kind */
	uint64_t bytes[SWAP_OBSTACLE_COUNT];
	/* where the first of them begins */
	uint64_t first[SWAP_OBSTACLE_COUNT];
	/* the chunks and the flag nodatasum are known: else a file without obstacles may have some */
	bool is_complete;
};

bool swap_findings_have_any(const struct swap_findings *findings);

/*
 * Find everything that keeps swapon(2) from FILE, whose writes are blocked by BLOCK, after its
 * data has been written back. CHUNKS are those of the file system; NULL without the privilege to
 * search trees. SYSFS replaces /sys/fs/btrfs if it is not NULL.
 * Returns 0, or a negative errno as fiemap_iter_next() and read(2).
 * Rests on btrfs_swap_activate() (fs/btrfs/inode.c) and read_swap_header() (mm/swapfile.c).
 */
int swap_file_examine(const struct nocow_file *file, enum write_block block, bool is_read_only,
		      const struct chunk_list *chunks, const char *sysfs,
		      struct swap_findings *ret_findings);

#endif
