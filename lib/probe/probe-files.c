// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "path/temporary-file.h"
#include "probe/probe-files.h"
#include "sys/cleanup.h"

#define READ_SIZE (256 << 10)

int probe_name(char ret_name[PROBE_NAME_SIZE])
{
	return random_name(ret_name, PROBE_NAME_SIZE, PROBE_PREFIX);
}

int probe_dirty_every_other(int fd, unsigned int first, unsigned int count)
{
	static const char block[PROBE_BLOCK] = { 1 };

	for (uint64_t i = 0; i < count; i++) {
		int ret = write_at(fd, block, PROBE_BLOCK, (first + 2 * i) * PROBE_BLOCK);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int probe_write_every_other(int fd, unsigned int first, unsigned int count)
{
	int ret = probe_dirty_every_other(fd, first, count);

	if (ret < 0)
		return ret;
	return fsync(fd) < 0 ? -errno : 0;
}

int probe_read_all(int fd)
{
	CLEANUP_FREE char *buffer = malloc(READ_SIZE);
	off_t offset = 0;
	ssize_t size;

	if (!buffer)
		return -ENOMEM;
	while ((size = pread(fd, buffer, READ_SIZE, offset)) > 0)
		offset += size;
	return size < 0 ? -errno : 0;
}

int probe_remove(int directory_fd, const char *name, int flags)
{
	return unlinkat(directory_fd, name, flags) < 0 && errno != ENOENT ? -errno : 0;
}

int probe_interrupted(struct interrupts *interrupts)
{
	return interrupts_pending(interrupts) ? -EINTR : 0;
}
