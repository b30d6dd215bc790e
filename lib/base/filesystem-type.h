/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILESYSTEM_TYPE_H
#define FASTPATH_FILESYSTEM_TYPE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/vfs.h>

/* Whether the type is MAGIC, of linux/magic.h. With 32 bits f_type is negative for some types. */
static inline bool filesystem_has_type(const struct statfs *filesystem, uint32_t magic)
{
	return (uint32_t)filesystem->f_type == magic;
}

#endif
