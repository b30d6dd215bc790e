/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TRUSTED_FILE_H
#define FASTPATH_TRUSTED_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Whether only root and the caller can add, rename or remove files in a directory with this STATUS.
 * It must belong to root or the caller, and no group, other user or access control list may allow
 * writing to it. The sticky bit is not sufficient, because with it all users can replace their own
 * files. The parent directories are not checked, so use a descriptor of the directory.
 */
bool directory_is_trusted(const struct stat *status);

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
