/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TRUSTED_DIRECTORY_H
#define FASTPATH_TRUSTED_DIRECTORY_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Whether only root and the caller can add, rename or remove files in a directory with this STATUS.
 * It must belong to root or the caller, and no group, other user or access control list may allow
 * writing to it. The sticky bit is not sufficient, because with it all users can replace their own
 * files. The parent directories are not checked, so use a descriptor of the directory.
 */
bool directory_is_trusted(const struct stat *status);

#endif
