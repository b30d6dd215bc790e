/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_FILESYSTEM_ID_H
#define FASTPATH_FILESYSTEM_ID_H

#include "subvolume.h"

/* with the NUL byte */
#define FSID_TEXT_SIZE 37

/* Write the UUID of a file system to TEXT as sysfs has it, and return TEXT. */
char *filesystem_id_text(char text[FSID_TEXT_SIZE], const uint8_t fsid[FSID_SIZE]);

#endif
