/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_WRITE_AT_H
#define FASTPATH_WRITE_AT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Write all SIZE bytes of DATA to FD at OFFSET, with as many calls as needed. If FD was opened with
 * O_DIRECT, DATA, SIZE and OFFSET must be multiples of the block size.
 * Returns 0, or a negative errno as pwrite(2), -EIO if a call writes nothing.
 */
int write_at(int fd, const void *data, size_t size, uint64_t offset);

#endif
