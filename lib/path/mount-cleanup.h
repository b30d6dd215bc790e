/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_MOUNT_CLEANUP_H
#define FASTPATH_MOUNT_CLEANUP_H

#include <libmount.h>

#include "sys/cleanup.h"

static inline void unref_mount_table(struct libmnt_table **table)
{
	mnt_unref_table(*table);
}

static inline void free_mount_iter(struct libmnt_iter **iter)
{
	mnt_free_iter(*iter);
}

/* For variables of these types. */
#define CLEANUP_MOUNT_TABLE CLEANUP(unref_mount_table)
#define CLEANUP_MOUNT_ITER CLEANUP(free_mount_iter)

#endif
