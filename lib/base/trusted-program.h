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

/*
 * Opens the file PATH for reading, which has to be as for trusted_program_check(). What is checked
 * is what is opened, even if another user replaces a parent of its directory meanwhile. Returns a
 * descriptor that the caller closes, or an error as trusted_program_check() or open(2).
 */
int trusted_file_open(const char *path);

#endif
