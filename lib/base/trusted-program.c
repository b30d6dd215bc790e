// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/parent-directory.h"
#include "base/trusted-directory.h"
#include "base/trusted-program.h"

int trusted_program_check(const char *path)
{
	CLEANUP_CLOSE int fd = parent_directory_open(path);
	struct stat directory, program;

	if (fd < 0)
		return fd;
	if (fstat(fd, &directory) < 0 ||
	    fstatat(fd, path_last_component(path), &program, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(program.st_mode))
		return -EPERM;
	/* The same owners and bits decide who can write to a file. */
	return directory_is_trusted(&directory) && directory_is_trusted(&program) ? 0 : -EPERM;
}
