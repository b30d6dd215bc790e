// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/open-components.h"

int open_components(int start, const char *path, open_component *open_one, void *data)
{
	int fd = start;

	for (path += strspn(path, "/"); *path && fd >= 0; path += strspn(path, "/")) {
		CLEANUP_CLOSE int parent = fd;
		size_t length = strcspn(path, "/");
		CLEANUP_FREE char *name = strndup(path, length);

		fd = name ? open_one(parent, name, data) : -ENOMEM;
		path += length;
	}
	return fd;
}
