/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SCRATCH_FILE_H
#define FASTPATH_SCRATCH_FILE_H

#include <stdint.h>

enum scratch_kind {
	/* preallocated and not written */
	SCRATCH_PREALLOC,
	/* NOCOW, and written once */
	SCRATCH_NOCOW,
};

/*
 * Make an empty file in DIRECTORY. It has no name, and no name can be given to it. So it is deleted
 * when the last descriptor is closed, even if the program is killed.
 * Returns a descriptor with O_DIRECT that the caller closes, or a negative errno: -ENOTTY if
 * DIRECTORY is not on btrfs, -EROFS, -EACCES, ...
 * Rests on O_TMPFILE.
 */
int scratch_file_new(const char *directory);

/*
 * Give the new file FD a size of SIZE bytes, a multiple of SCRATCH_BLOCK. It is not compressed, and
 * NOCOW only with SCRATCH_NOCOW, regardless of the flags that it inherits from its directory.
 * Returns 0 or a negative errno: -ENOSPC, ...
 * Rests on FS_IOC_SETFLAGS and fallocate(2).
 */
int scratch_file_fill(int fd, enum scratch_kind kind, uint64_t size);

#define SCRATCH_BLOCK 65536

#endif
