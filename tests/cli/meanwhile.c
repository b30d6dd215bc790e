// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file system that changes while a program reads it: the program is linked with -Wl,--wrap=ioctl.
 * MEANWHILE=CALL:FIRST:LAST:COMMAND runs COMMAND in a shell before these calls, counted from 1. CALL is
 * fiemap, tree-search, extent-tree for a search of this tree, or logical-ino. After "exit 5" the call fails with EIO, which is 5.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <linux/fiemap.h>
#include <linux/fs.h>

#include <btrfs/ioctl.h>
#include <btrfs/ctree.h>

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

static bool searches_extents(unsigned long request, const void *argument)
{
	const struct btrfs_ioctl_search_args_v2 *arguments = argument;

	return request == BTRFS_IOC_TREE_SEARCH_V2 &&
	       arguments->key.tree_id == BTRFS_EXTENT_TREE_OBJECTID;
}

static bool is_call(const char *name, unsigned long request, const void *argument)
{
	if (strcmp(name, "fiemap") == 0)
		return request == FS_IOC_FIEMAP;
	if (strcmp(name, "tree-search") == 0)
		return request == BTRFS_IOC_TREE_SEARCH_V2;
	if (strcmp(name, "extent-tree") == 0)
		return searches_extents(request, argument);
	return request == BTRFS_IOC_LOGICAL_INO_V2;
}

/* Returns 0, or the errno of the call. */
static int run_meanwhile(const char *text, unsigned long request, const void *argument)
{
	static atomic_uint calls;
	unsigned int first, last, call;
	char name[16];
	int length, status;

	if (sscanf(text, "%15[^:]:%u:%u:%n", name, &first, &last, &length) != 3)
		abort();
	if (!is_call(name, request, argument))
		return 0;
	call = ++calls;
	if (call < first || call > last)
		return 0;
	status = system(text + length);
	if (status == 0)
		return 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EIO)
		abort();
	return EIO;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	const char *text = getenv("MEANWHILE");
	va_list list;
	void *argument;
	int error;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	error = text ? run_meanwhile(text, request, argument) : 0;
	if (error) {
		errno = error;
		return -1;
	}
	return __real_ioctl(fd, request, argument);
}
