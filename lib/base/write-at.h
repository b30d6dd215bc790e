/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WRITE_AT_H
#define FASTPATH_WRITE_AT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Write all SIZE bytes of DATA to FD at OFFSET, however many calls it takes; where FD is open with
 * O_DIRECT, all three are on a block's bound.
 * Returns 0, or a negative errno as pwrite(2), -EIO where it does not get on.
 */
int write_at(int fd, const void *data, size_t size, uint64_t offset);

#endif
