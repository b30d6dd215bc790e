// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <btrfs/ioctl.h>

#include "base/filesystem-type.h"
#include "base/retry-ioctl.h"
#include "fs/filesystem.h"

int filesystem_id_of(int fd, uint8_t ret_fsid[FSID_SIZE])
{
	struct btrfs_ioctl_fs_info_args info = { 0 };
	int ret;

	ret = retry_ioctl(fd, BTRFS_IOC_FS_INFO, &info, sizeof(info));
	if (ret < 0)
		return ret;
	memcpy(ret_fsid, info.fsid, FSID_SIZE);
	return 0;
}

int filesystem_open_directory(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECTORY | O_CLOEXEC);
	struct statfs status;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &status) < 0)
		ret = -errno;
	else if (!filesystem_has_type(&status, BTRFS_SUPER_MAGIC))
		ret = -ENOTTY;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

int filesystem_commit(int fd)
{
	uint64_t transaction = 0;
	int ret;

	ret = retry_ioctl(fd, BTRFS_IOC_START_SYNC, &transaction, 0);
	if (ret == 0)
		ret = retry_ioctl(fd, BTRFS_IOC_WAIT_SYNC, &transaction, sizeof(transaction));
	return ret < 0 ? ret : 0;
}

static bool has_dash_before(int i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

char *filesystem_id_text(char text[FSID_TEXT_SIZE], const uint8_t fsid[FSID_SIZE])
{
	char *out = text;

	for (int i = 0; i < FSID_SIZE; i++)
		out += sprintf(out, has_dash_before(i) ? "-%02x" : "%02x", fsid[i]);
	return text;
}

/* Returns less than 0 if it is none, as a NUL byte. */
static int hex_digit(char character)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = character ? strchr(digits, character) : NULL;

	return found ? (int)(found - digits) : -1;
}

int filesystem_id_parse(const char *text, uint8_t ret_fsid[FSID_SIZE])
{
	uint8_t fsid[FSID_SIZE];

	for (int i = 0; i < FSID_SIZE; i++) {
		int high, low;

		if (has_dash_before(i) && *text++ != '-')
			return -EINVAL;
		high = hex_digit(*text++);
		low = high < 0 ? -1 : hex_digit(*text++);
		if (low < 0)
			return -EINVAL;
		fsid[i] = high << 4 | low;
	}
	if (*text)
		return -EINVAL;
	memcpy(ret_fsid, fsid, FSID_SIZE);
	return 0;
}
