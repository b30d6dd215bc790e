// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>

#include "ui/message.h"
#include "ui/new-file-error.h"

void new_file_error(const char *action, const char *path, int err)
{
	if (err == -EXDEV)
		error_path("the path has a symbolic link of another user:", path, 0);
	else
		error_path(action, path, err);
}
