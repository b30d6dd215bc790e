/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_BYTE_RANGE_H
#define FASTPATH_BYTE_RANGE_H

#include <stdint.h>

/* A part of a file. It can reach beyond the end of the file. */
struct byte_range {
	uint64_t offset;
	uint64_t length;
};

#define WHOLE_FILE ((struct byte_range){ .offset = 0, .length = UINT64_MAX })

/* The end of RANGE, or UINT64_MAX if it would overflow. */
uint64_t byte_range_end(struct byte_range range);

/* RANGE without the bytes after SIZE. The length is 0 if no byte is left. */
struct byte_range byte_range_cut(struct byte_range range, uint64_t size);

#endif
