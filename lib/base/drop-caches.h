/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DROP_CACHES_H
#define FASTPATH_DROP_CACHES_H

/*
 * Write the file system of FD back and drop the system's clean page cache, metadata, dentries and
 * inodes. Objects in use stay cached.
 * Returns 0, -EACCES or -EPERM without root, or a negative errno.
 * Rests on /proc/sys/vm/drop_caches.
 */
int drop_caches(int fd);

#endif
