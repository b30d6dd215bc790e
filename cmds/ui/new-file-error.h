/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_NEW_FILE_ERROR_H
#define FASTPATH_NEW_FILE_ERROR_H

/*
 * Print an error: ACTION ("cannot create") failed for PATH with the negative errno ERR of a function
 * in base/new-file.h, where -EXDEV is another user's link.
 */
void new_file_error(const char *action, const char *path, int err);

#endif
