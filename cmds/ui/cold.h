/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COLD_H
#define FASTPATH_COLD_H

/*
 * Drops all caches for --cold, as drop_caches() does. Returns 1, 0 if the privilege is missing,
 * of which it complains, or a negative errno.
 */
int cold_drop_caches(int fd);

#endif
