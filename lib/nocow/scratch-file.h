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
 * Make a file of SIZE bytes, a multiple of SCRATCH_BLOCK, in DIRECTORY, neither compressed nor,
 * unless KIND says so, NOCOW, whatever DIRECTORY hands down. It never has a name, and cannot be
 * given one, so that it is gone when nobody has it open any more, however the program ends.
 * Returns a descriptor with O_DIRECT, which is the caller's, or a negative errno: -ENOTTY where
 * DIRECTORY is not on btrfs, -ENOSPC, -EROFS, -EACCES, ...
 * Rests on O_TMPFILE, FS_IOC_SETFLAGS and fallocate(2).
 */
int scratch_file_new(const char *directory, enum scratch_kind kind, uint64_t size);

#define SCRATCH_BLOCK 65536

#endif
