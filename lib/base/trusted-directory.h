/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_TRUSTED_DIRECTORY_H
#define FASTPATH_TRUSTED_DIRECTORY_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Whether nobody but root and the caller can put anything into a directory of this STATUS, rename
 * or remove what is there: it is root's or the caller's, and neither its group nor others may write
 * to it, nor anyone by an access control list. The sticky bit does not do: by it everybody may
 * exchange files of his own. What is above the directory does not count, so hold it by a
 * descriptor.
 */
bool directory_is_trusted(const struct stat *status);

#endif
