/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_DETACHED_MOUNT_H
#define FASTPATH_DETACHED_MOUNT_H

/*
 * Mount a file system of TYPE, with SOURCE, a device, or NULL. The mount is attached to no directory, so
 * that no other process finds it; it is nosuid, nodev and noexec, and ends with its last descriptor.
 * Returns a descriptor that the caller closes, or a negative errno: -ENODEV if the kernel does not have
 * this type, -EPERM without CAP_SYS_ADMIN. Rests on fsopen(2) and fsmount(2).
 */
int detached_mount_open(const char *type, const char *source);

#endif
