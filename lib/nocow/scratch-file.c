// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fs/filesystem.h"
#include "fs/inode-flags.h"
#include "nocow/scratch-file.h"
#include "path/temporary-file.h"
#include "sys/cleanup.h"

static int write_all(int fd, uint64_t size)
{
	CLEANUP_FREE char *block = NULL;
	int ret;

	if (posix_memalign((void **)&block, SCRATCH_BLOCK, SCRATCH_BLOCK))
		return -ENOMEM;
	memset(block, 0x5a, SCRATCH_BLOCK);
	for (uint64_t offset = 0; offset < size; offset += SCRATCH_BLOCK) {
		ret = write_at(fd, block, SCRATCH_BLOCK, offset);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int scratch_file_fill(int fd, enum scratch_kind kind, uint64_t size)
{
	int ret;

	ret = inode_flags_set_nocow(fd, kind == SCRATCH_NOCOW);
	if (ret < 0)
		return ret;
	while (fallocate(fd, 0, 0, size) < 0)
		if (errno != EINTR)
			return -errno;
	if (kind == SCRATCH_NOCOW) {
		ret = write_all(fd, size);
		if (ret < 0)
			return ret;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

int scratch_file_new(const char *directory)
{
	CLEANUP_CLOSE int directory_fd = filesystem_open_directory(directory, O_PATH);
	int fd;

	if (directory_fd < 0)
		return directory_fd;
	/* O_EXCL: nobody can give it a name later. */
	fd = openat(directory_fd, ".", O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}
