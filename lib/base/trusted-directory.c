// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <unistd.h>

#include "base/trusted-directory.h"

/* Any owner that has no number in this user namespace, the caller perhaps among them. */
#define OVERFLOW_UID 65534

bool directory_is_trusted(const struct stat *status)
{
	if (status->st_uid && (status->st_uid != geteuid() || status->st_uid == OVERFLOW_UID))
		return false;
	/* The bits of the group are the mask of an access control list, if there is one. */
	return !(status->st_mode & (S_IWGRP | S_IWOTH));
}
