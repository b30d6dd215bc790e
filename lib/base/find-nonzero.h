/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FIND_NONZERO_H
#define FASTPATH_FIND_NONZERO_H

#include <stdint.h>

#include "base/byte-range.h"

/*
 * Read RANGE of FD and look for a byte that is not zero. The pages are dropped from the cache
 * again, so that a large hole does not evict everything else. Bytes after the end of the file count
 * as zero.
 * Returns 1 with the offset of the first such byte; 0 if there is none, with the offset where
 * reading ended, which is the end of RANGE or of the file; or a negative errno.
 * Rests on pread(2) and posix_fadvise(2).
 */
int find_nonzero(int fd, struct byte_range range, uint64_t *ret_offset);

#endif
