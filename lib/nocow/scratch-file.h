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
 * Make an empty file in DIRECTORY. It never has a name, and cannot be given one, so that it is gone
 * when nobody has it open any more, however the program ends.
 * Returns a descriptor with O_DIRECT, which is the caller's, or a negative errno: -ENOTTY where
 * DIRECTORY is not on btrfs, -EROFS, -EACCES, ...
 * Rests on O_TMPFILE.
 */
int scratch_file_new(const char *directory);

/*
 * Give the new file FD a size of SIZE bytes, a multiple of SCRATCH_BLOCK. It is neither compressed
 * nor, unless KIND says so, NOCOW, whatever its directory hands down.
 * Returns 0 or a negative errno: -ENOSPC, ...
 * Rests on FS_IOC_SETFLAGS and fallocate(2).
 */
int scratch_file_fill(int fd, enum scratch_kind kind, uint64_t size);

#define SCRATCH_BLOCK 65536

#endif
