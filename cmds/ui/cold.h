/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_COLD_H
#define FASTPATH_COLD_H

/*
 * Drops all caches for --cold, as drop_caches() does. Returns 1; 0 after printing an error if the
 * privilege is missing; or a negative errno.
 */
int cold_drop_caches(int fd);

#endif
