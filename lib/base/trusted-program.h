/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TRUSTED_PROGRAM_H
#define FASTPATH_TRUSTED_PROGRAM_H

/*
 * Whether only root and the caller can change or replace the program PATH: it is a regular file,
 * and directory_is_trusted() would say so of this file and of the directory that it is in. The
 * parents of the directory are not checked: PATH is not for other users to choose.
 * Returns 0, -EPERM if others can, -ENOENT, or another negative errno.
 */
int trusted_program_check(const char *path);

#endif
