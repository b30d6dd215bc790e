// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "path/temporary-file.h"
#include "sys/cleanup.h"

#define FILE_PREFIX "btrfs-fastpath-"

int random_name(char *name, size_t size, const char *prefix)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(name, size, "%s%08" PRIx32, prefix, number);
	return 0;
}

const char *temporary_directory(void)
{
	const char *directory = secure_getenv("TMPDIR");

	return directory && *directory ? directory : "/var/tmp";
}

/* Where the file system knows no file without a name: one that loses it at once. */
static int open_and_unlink(int directory)
{
	char name[RANDOM_NAME_SIZE(FILE_PREFIX)];
	int fd, ret;

	ret = random_name(name, sizeof(name), FILE_PREFIX);
	if (ret < 0)
		return ret;
	fd = openat(directory, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	unlinkat(directory, name, 0);
	return fd;
}

int temporary_file_open(const char *path)
{
	CLEANUP_CLOSE int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (directory < 0)
		return -errno;
	/* O_EXCL: nobody can give it a name later. */
	fd = openat(directory, ".", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (errno != EOPNOTSUPP && errno != EISDIR)
		return -errno;
	return open_and_unlink(directory);
}

int write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	const char *rest = data;

	while (size) {
		ssize_t count = pwrite(fd, rest, size, offset);

		if (count < 0 && errno != EINTR)
			return -errno;
		if (count == 0)
			return -EIO;
		if (count > 0) {
			rest += count;
			size -= count;
			offset += count;
		}
	}
	return 0;
}
