// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/sysfs-attribute.h"
#include "sys/cleanup.h"

char *sysfs_path_of(const char *sysfs, const uint8_t fsid[FSID_SIZE], const char *name)
{
	char id[FSID_TEXT_SIZE];
	char *path;

	if (asprintf(&path, "%s/%s/%s", sysfs ? sysfs : "/sys/fs/btrfs",
		     filesystem_id_text(id, fsid), name) < 0)
		return NULL;
	return path;
}

int sysfs_attribute_open(const char *sysfs, const uint8_t fsid[FSID_SIZE], const char *name)
{
	CLEANUP_FREE char *path = sysfs_path_of(sysfs, fsid, name);

	return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

void sysfs_attribute_read(int fd, char text[SYSFS_ATTRIBUTE_SIZE])
{
	ssize_t length = fd < 0 ? -1 : pread(fd, text, SYSFS_ATTRIBUTE_SIZE - 1, 0);

	text[length < 0 ? 0 : length] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

void sysfs_attribute_get(const char *sysfs, const uint8_t fsid[FSID_SIZE], const char *name,
			 char text[SYSFS_ATTRIBUTE_SIZE])
{
	CLEANUP_CLOSE int fd = sysfs_attribute_open(sysfs, fsid, name);

	sysfs_attribute_read(fd, text);
}

bool sysfs_attribute_is_same(const char *before, const char *after)
{
	return *before && strcmp(before, after) == 0;
}
