/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_HOLDERS_H
#define FASTPATH_HOLDERS_H

#include <stdint.h>

/*
 * The arguments that led to what refers to a data extent: the first and the last one. It is freed alone by
 * an argument that is both, and with those above by the last one.
 */
struct holders {
	uint32_t first;
	uint32_t last;
};

#define NO_HOLDERS ((struct holders){ .first = UINT32_MAX })
/* Something that is not in the set refers to it, too. */
#define OTHER_HOLDER UINT32_MAX

static inline void holders_add(struct holders *holders, struct holders more)
{
	if (more.first < holders->first)
		holders->first = more.first;
	if (more.last > holders->last)
		holders->last = more.last;
}

static inline void holders_add_argument(struct holders *holders, uint32_t argument)
{
	holders_add(holders, (struct holders){ argument, argument });
}

#endif
